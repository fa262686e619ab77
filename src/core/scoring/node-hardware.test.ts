import { describe, expect, it } from "vitest";
import type { HardwareView } from "../inventory/index.ts";
import { gpuNodeOf, marginalHardwareOf } from "./node-hardware.ts";

const view = (cpu: object, gpu?: object) => ({ cpu, gpu, family: "f" }) as unknown as HardwareView;

describe("marginalHardwareOf", () => {
  it("SCH-19 sums the boards' maxima; the CPUs' are summed already", () => {
    expect(marginalHardwareOf(view({ totalCores: 128, maxWatts: 700 }, { count: 8, maxWatts: 400 }))).toEqual({
      totalCores: 128,
      maxCpuWatts: 700,
      gpuCount: 8,
      maxGpuWatts: 3200,
    });
  });

  it("has no GPU on a CPU-only node", () => {
    expect(marginalHardwareOf(view({ totalCores: 1, maxWatts: 1 }))).toMatchObject({ gpuCount: 0, maxGpuWatts: 0 });
  });

  it("takes a node without a view for the least a CPU is assumed to draw", () => {
    expect(marginalHardwareOf(undefined)).toEqual({ totalCores: 0, maxCpuWatts: 150, gpuCount: 0, maxGpuWatts: 0 });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 0, undefined])("turns %j into 0 everywhere", (odd) => {
    const hardware = view({ totalCores: odd, maxWatts: odd }, { count: 2, maxWatts: odd });
    expect(marginalHardwareOf(hardware)).toEqual({ totalCores: 0, maxCpuWatts: 0, gpuCount: 2, maxGpuWatts: 0 });
    expect(marginalHardwareOf(view({}, { count: odd, maxWatts: 5 }))).toMatchObject({ gpuCount: 0, maxGpuWatts: 0 });
  });

  it("keeps a product beyond the largest double at that", () => {
    expect(marginalHardwareOf(view({}, { count: 8, maxWatts: 1e308 })).maxGpuWatts).toBe(Number.MAX_VALUE);
  });
});

describe("gpuNodeOf", () => {
  it("joins boards and model of the view with the node's labels", () => {
    const labels = { a: "b" };
    expect(gpuNodeOf(view({}, { count: 4, model: "A30" }), labels)).toEqual({ boards: 4, labels, model: "A30" });
    expect(gpuNodeOf(undefined, undefined)).toEqual({ boards: 0, labels: undefined, model: undefined });
  });
});
