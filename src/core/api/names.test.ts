import { expect, it } from "vitest";
import {
  annotations,
  declaredHardwareLabels,
  fieldManagers,
  gpuProductLabels,
  labels,
  nfdCpuLabels,
  nfdGpuLabels,
} from "./names.ts";
import { isLabelKey } from "./selector.ts";

const everyLabel = [
  ...Object.values(labels),
  ...Object.values(annotations),
  ...Object.values(declaredHardwareLabels),
  ...gpuProductLabels,
  ...Object.values(nfdCpuLabels),
  ...Object.values(nfdGpuLabels).flat(),
];

it("names only labels Kubernetes accepts, each once", () => {
  expect(everyLabel.filter((key) => !isLabelKey(key))).toEqual([]);
  expect(new Set(everyLabel).size).toBe(everyLabel.length);
});

it("tells two field managers apart", () => {
  expect(fieldManagers).toEqual({ operator: "joulie-operator", agent: "joulie-agent" });
});

it("knows a GPU's PCI label with and without its class", () => {
  expect(nfdGpuLabels.amd).toEqual([
    "feature.node.kubernetes.io/pci-1002.present",
    "feature.node.kubernetes.io/pci-0300_1002.present",
    "feature.node.kubernetes.io/pci-0302_1002.present",
  ]);
});
