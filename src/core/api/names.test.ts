import { expect, it } from "vitest";
import { annotations, declaredHardwareLabels, gpuProductLabels, labels, nfdCpuLabels, nfdGpuLabels } from "./names.ts";
import { isLabelKey } from "./selector.ts";

const everyLabel = [
  ...Object.values(labels),
  ...Object.values(annotations),
  ...Object.values(declaredHardwareLabels),
  ...gpuProductLabels,
  ...Object.values(nfdCpuLabels),
  ...Object.values(nfdGpuLabels).flat(),
];

it("lists only valid Kubernetes labels, without duplicates", () => {
  expect(everyLabel.filter((key) => !isLabelKey(key))).toEqual([]);
  expect(new Set(everyLabel).size).toBe(everyLabel.length);
});
