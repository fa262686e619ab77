import { describe, expect, it } from "vitest";
import { seconds } from "../units/index.ts";
import { jobDemandOf, progressRate, type SimulatedJob } from "./work.ts";

const job: SimulatedJob = {
  id: "a",
  cores: 4,
  cpuUtil: 0.5,
  cpuShare: 0.4,
  gpus: 2,
  gpuUtil: 0.9,
  gpuShare: 0.3,
  work: seconds(60),
};

describe("a job's demand", () => {
  it("uses the values of the job", () => {
    expect(jobDemandOf(job)).toEqual({ cpuLoad: 2, cpuShare: 0.4, gpus: 2, gpuUtil: 0.9, gpuShare: 0.3, work: 60 });
  });

  it("ignores the GPU share of a job without a GPU", () => {
    expect(jobDemandOf({ ...job, gpus: undefined })).toMatchObject({ gpus: 0, gpuShare: 0 });
    expect(jobDemandOf({ ...job, gpus: 1, gpuUtil: undefined, gpuShare: undefined })).toMatchObject({
      gpuUtil: 0,
      gpuShare: 0,
    });
  });

  it("scales down two shares that add up to more than 1", () => {
    expect(jobDemandOf({ ...job, cpuShare: 1, gpuShare: 1 })).toMatchObject({ cpuShare: 0.5, gpuShare: 0.5 });
  });

  it.each([Number.NaN, -1])("treats %d as 0", (bad) => {
    const all = { cores: bad, cpuUtil: bad, cpuShare: bad, gpus: bad, gpuUtil: bad, gpuShare: bad, work: seconds(bad) };
    expect(jobDemandOf({ id: "a", ...all })).toEqual({
      cpuLoad: 0,
      cpuShare: 0,
      gpus: 0,
      gpuUtil: 0,
      gpuShare: 0,
      work: 0,
    });
  });
});

describe("progress", () => {
  const rate = (cpuShare: number, gpuShare: number, cpuClock: number, gpuClock: number) =>
    progressRate(jobDemandOf({ ...job, cpuShare, gpuShare }), cpuClock, gpuClock);

  it("is 1/(c/f + 1 − c)", () => {
    expect(rate(1, 0, 0.5, 1)).toBe(0.5);
    expect(rate(0.5, 0, 0.5, 1)).toBeCloseTo(1 / 1.5, 12);
    expect(rate(0, 0.25, 1, 0.5)).toBeCloseTo(0.8, 12);
    expect(rate(0, 0, 0.1, 0.1)).toBe(1);
  });

  it("adds the slowdowns of both clocks", () => {
    expect(rate(0.5, 0.25, 0.5, 0.5)).toBeCloseTo(1 / (0.5 / 0.5 + 0.25 / 0.5 + 0.25), 12);
  });

  it("stops if a clock that the job depends on is 0, and ignores the other clock", () => {
    expect(rate(0.1, 0.1, 1, 0)).toBe(0);
    expect(rate(0.5, 0, 1, 0)).toBe(1);
  });
});
