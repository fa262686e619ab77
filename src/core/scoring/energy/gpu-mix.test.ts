import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GpuJob, GpuMixCounter, gpuMixOf, unusableBoards } from "./gpu-mix.ts";

const job = (boards: number, cpus = 0): GpuJob => ({ boards, cpus });

describe("gpuMixOf", () => {
  it("gives shares and mean CPUs by number of boards", () => {
    const mix = gpuMixOf([job(1, 4), job(1, 8), job(8, 64), job(1, 12)]);
    expect([...mix.boards]).toEqual([1, 8]);
    expect([...mix.cpus]).toEqual([8, 64]);
    expect([...mix.share]).toEqual([0.75, 0.25]);
  });

  it("is empty without GPU pods", () => {
    expect(gpuMixOf([]).boards).toHaveLength(0);
  });

  it("counts the same whatever the order of additions and removals", () => {
    const jobs = fc.array(
      fc.record({ boards: fc.integer({ min: 1, max: 40 }), cpus: fc.double({ min: 0, max: 512, noNaN: true }) }),
    );
    fc.assert(
      fc.property(jobs, jobs, (stay, leave) => {
        const counter = new GpuMixCounter();
        counter.count(leave, 1);
        for (const one of stay.toReversed()) counter.count([one], 1);
        counter.count(leave.toReversed(), -1);
        expect(counter.mix).toEqual(gpuMixOf(stay));
      }),
    );
  });
});

describe("unusableBoards", () => {
  it("counts the boards that pods of the mix leave over", () => {
    expect(unusableBoards(7, 100, gpuMixOf([job(4)]))).toBe(3);
    expect(unusableBoards(8, 100, gpuMixOf([job(4)]))).toBe(0);
    expect(unusableBoards(3, 100, gpuMixOf([job(4)]))).toBe(3);
    expect(unusableBoards(3, 100, gpuMixOf([job(4), job(1)]))).toBe(1.5);
  });

  it("counts boards without enough CPUs", () => {
    expect(unusableBoards(4, 20, gpuMixOf([job(1, 8)]))).toBe(2);
    expect(unusableBoards(4, 0, gpuMixOf([job(1, 8)]))).toBe(4);
  });

  it("is 0 without GPU pods in the cluster", () => {
    expect(unusableBoards(4, 0, gpuMixOf([]))).toBe(0);
  });

  it("treats seven sevenths of a board as one", () => {
    const free = 8 - 7 * (1 / 7);
    expect(unusableBoards(free, 100, gpuMixOf([job(7)]))).toBeCloseTo(0, 6);
  });
});
