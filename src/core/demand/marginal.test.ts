import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { watts } from "../units/index.ts";
import { type MarginalHardware, marginalWatts, pueWeighted } from "./marginal.ts";

const coefficients = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };
const node: MarginalHardware = { totalCores: 128, maxCpuWatts: watts(700), gpuCount: 8, maxGpuWatts: watts(3200) };
const marginal = (cpuCores: number, gpuBoards = 0, hardware: Partial<MarginalHardware> = {}) =>
  marginalWatts({ cpuCores, gpuBoards }, { ...node, ...hardware }, coefficients, "standard");

describe("marginal watts", () => {
  it("SCH-17 0.7 of 16 of 128 cores at 700 W is 61.25 W", () => {
    expect(marginal(16).cpu).toBeCloseTo(61.25, 10);
    expect(marginal(16)).toMatchObject({ gpu: 0, total: marginal(16).cpu });
  });

  it("SCH-18 0.65 of 1 of 8 boards at 3200 W is 260 W", () => {
    expect(marginal(0, 1)).toEqual({ cpu: 0, gpu: 260, total: 260 });
    expect(marginal(0, 0.5).gpu).toBe(130);
    expect(marginal(16, 1).total).toBeCloseTo(321.25, 10);
  });

  it("SCH-20 SCH-21 SCH-22 uses the given coefficients, for GPUs by workload class", () => {
    const own = { cpu: 0.5, gpuStandard: 0.25, gpuPerformance: 1 };
    const demand = { cpuCores: 64, gpuBoards: 4 };
    expect(marginalWatts(demand, node, own, "standard")).toEqual({ cpu: 175, gpu: 400, total: 575 });
    expect(marginalWatts(demand, node, own, "performance")).toEqual({ cpu: 175, gpu: 1600, total: 1775 });
    expect(marginalWatts({ cpuCores: 0, gpuBoards: 1 }, node, coefficients, "performance").gpu).toBe(340);
  });

  it("X-60 limits a pod to the whole device, however much it requests", () => {
    expect(marginal(128)).toEqual(marginal(1e308));
    expect(marginal(129).cpu).toBeCloseTo(490, 10);
    expect(marginal(127).cpu).toBeLessThan(490);
    expect(marginal(0, 9).gpu).toBe(2080);
  });

  it("counts the whole device if its size is unknown", () => {
    for (const totalCores of [0, -1, Number.NaN]) expect(marginal(4, 0, { totalCores }).cpu).toBeCloseTo(490, 10);
    expect(marginal(0, 0, { totalCores: 0 }).cpu).toBe(0);
    expect(marginal(0, 1, { gpuCount: 0, maxGpuWatts: watts(0) }).gpu).toBe(0);
  });

  it("adds nothing for invalid watts or demands, and stays finite", () => {
    expect(marginal(4, 1, { maxCpuWatts: watts(Number.NaN), maxGpuWatts: watts(-5) })).toEqual({
      cpu: 0,
      gpu: 0,
      total: 0,
    });
    expect(marginal(Number.NaN, -1)).toEqual({ cpu: 0, gpu: 0, total: 0 });
    const endless = marginal(128, 8, { maxCpuWatts: watts(Infinity), maxGpuWatts: watts(1e308) });
    expect(endless.cpu).toBe(Number.MAX_VALUE);
    expect(endless.total).toBe(Number.MAX_VALUE);
  });

  it("never decreases as a pod requests more", () => {
    const amount = fc.double({ min: 0, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(amount, amount, amount, (cores, more, boards) => {
        expect(marginal(cores + more, boards).total).toBeGreaterThanOrEqual(marginal(cores, boards).total);
      }),
    );
  });
});

describe("PUE weighting", () => {
  const plain = marginalWatts(
    { cpuCores: 64, gpuBoards: 4 },
    node,
    { cpu: 0.5, gpuStandard: 0.25, gpuPerformance: 1 },
    "standard",
  );

  it("SCH-40 a PUE of 1.6 raises CPU, GPU and total watts by 60 %", () => {
    expect(pueWeighted(plain, 1.6, true)).toEqual({ cpu: 280, gpu: 640, total: 920 });
  });

  it("SCH-41 a PUE of 1 or less, or none, changes nothing", () => {
    for (const pue of [1, 0.5, 0, -3, Number.NaN, undefined]) expect(pueWeighted(plain, pue, true)).toEqual(plain);
    expect(pueWeighted(plain, 1.01, true).cpu).toBeCloseTo(176.75, 10);
  });

  it("SCH-42 nothing changes while facility metrics are off", () => {
    expect(pueWeighted(plain, 1.6, false)).toEqual(plain);
  });

  it("stays finite", () => {
    expect(pueWeighted(plain, Infinity, true).total).toBe(Number.MAX_VALUE);
  });
});
