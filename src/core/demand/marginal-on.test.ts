import { describe, expect, it } from "vitest";
import type { HardwareView } from "../inventory/index.ts";
import { watts } from "../units/index.ts";
import { gpuBoardsOn } from "./gpu-boards.ts";
import { boundWattsOn, gpuNodeOf, marginalHardwareOf, marginalWattsOn } from "./marginal-on.ts";
import { podSummaryOf } from "./pod-summary.ts";

const view = (cpu: object, gpu?: object) => ({ cpu, gpu, family: "f" }) as unknown as HardwareView;

describe("marginalHardwareOf", () => {
  it("SCH-19 sums the maxima of the boards; the CPU maximum is already a sum", () => {
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

  it("assumes the minimum CPU power for a node without a hardware view", () => {
    expect(marginalHardwareOf(undefined)).toEqual({ totalCores: 0, maxCpuWatts: 150, gpuCount: 0, maxGpuWatts: 0 });
  });

  it.each([Number.NaN, Infinity, -1, 0, undefined])("replaces %j by 0 in every field", (odd) => {
    const hardware = view({ totalCores: odd, maxWatts: odd }, { count: 2, maxWatts: odd });
    expect(marginalHardwareOf(hardware)).toEqual({ totalCores: 0, maxCpuWatts: 0, gpuCount: 2, maxGpuWatts: 0 });
    expect(marginalHardwareOf(view({}, { count: odd, maxWatts: 5 }))).toMatchObject({ gpuCount: 0, maxGpuWatts: 0 });
  });

  it("limits an overflowing product to the largest double", () => {
    expect(marginalHardwareOf(view({}, { count: 8, maxWatts: 1e308 })).maxGpuWatts).toBe(Number.MAX_VALUE);
  });
});

describe("gpuNodeOf", () => {
  it("contains the dies per board, so that a pod on one die draws half a board", () => {
    const mi250x = gpuNodeOf(view({}, { count: 4, devicesPerBoard: 2 }), undefined);
    expect(gpuBoardsOn(new Map([["amd.com/gpu", 3]]), mi250x)).toBe(1.5);
    expect(gpuBoardsOn(new Map([["amd.com/gpu", 8]]), mi250x)).toBe(4);
    expect(gpuBoardsOn(new Map([["nvidia.com/gpu", 3]]), mi250x)).toBe(3);
  });

  it("combines boards and model of the hardware view with the node's labels", () => {
    const labels = { a: "b" };
    expect(gpuNodeOf(view({}, { count: 4, model: "A30" }), labels)).toEqual({
      boards: 4,
      labels,
      model: "A30",
    });
    expect(gpuNodeOf(undefined, undefined)).toEqual({ boards: 0, labels: undefined, model: undefined });
  });
});

describe("watts on a node", () => {
  const coefficients = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };
  const hardware = view({ totalCores: 128, maxWatts: 700 }, { count: 8, maxWatts: 400 });
  const pod = (cpu: string, gpus: number, workloadClass = "standard") =>
    podSummaryOf({
      metadata: { name: "p", annotations: { "joulie.io/workload-class": workloadClass } },
      spec: { containers: [{ resources: { requests: { cpu }, limits: { "nvidia.com/gpu": gpus } } }] },
    });

  it("SCH-17 SCH-18 SCH-22 are the pod's share of the node's maxima", () => {
    const one = marginalWattsOn(pod("16", 1), { hardware }, coefficients);
    expect(one.cpu).toBeCloseTo(61.25, 10);
    expect(one.gpu).toBe(260);
    expect(marginalWattsOn(pod("0", 1, "performance"), { hardware }, coefficients).gpu).toBe(340);
    const labels = { "nvidia.com/gpu.replicas": "2" };
    expect(marginalWattsOn(pod("0", 1), { hardware, labels }, coefficients).gpu).toBe(130);
  });

  it("are summed over the pods bound to it", () => {
    const pods = [pod("16", 1), pod("32", 0), pod("0", 2, "performance")];
    const sum = boundWattsOn(pods, { hardware }, coefficients);
    expect(sum.cpu).toBeCloseTo(183.75, 10);
    expect(sum.gpu).toBe(260 + 680);
    expect(sum.total).toBe(sum.cpu + sum.gpu);
    expect(boundWattsOn([], { hardware }, coefficients)).toEqual({ cpu: 0, gpu: 0, total: 0 });
    const labels = { "nvidia.com/gpu.replicas": "2" };
    expect(boundWattsOn(pods, { hardware, labels }, coefficients).gpu).toBe((260 + 680) / 2);
  });

  it("use the minimum CPU power if the hardware is unknown", () => {
    expect(boundWattsOn([pod("4", 1), pod("0", 0)], {}, coefficients)).toEqual({ cpu: 105, gpu: 0, total: 105 });
  });

  it("stay finite", () => {
    const endless = view({ totalCores: 1, maxWatts: 1e308 }, { count: 1, maxWatts: 1e308 });
    const sum = boundWattsOn([pod("1", 1), pod("1", 1), pod("1", 1)], { hardware: endless }, coefficients);
    const most = watts(Number.MAX_VALUE);
    expect(sum).toEqual({ cpu: most, gpu: most, total: most });
  });
});
