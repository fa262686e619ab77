import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../platform/random/index.ts";
import { generateTrace } from "./generate.ts";
import { publishedArrivals, publishedMix } from "./mix.ts";

const published = { mix: publishedMix, arrivals: publishedArrivals };

describe("generateTrace", () => {
  it("is reproducible for a seed and differs between seeds", () => {
    const first = generateTrace({ ...published, hours: 0.2 }, seededRandom(1));
    expect(generateTrace({ ...published, hours: 0.2 }, seededRandom(1))).toEqual(first);
    expect(generateTrace({ ...published, hours: 0.2 }, seededRandom(2))).not.toEqual(first);
  });

  it("SCH-58 has the published mix: jobs, bursts, shares, cores, GPUs and durations within a few percent", () => {
    const trace = generateTrace({ ...published, hours: 16 }, seededRandom(3));
    const jobs = trace.length;
    // Measured on the published trace: 147,069 jobs in 8 h; ratios per job.
    expect(jobs / 2 / 147_069).toBeCloseTo(1, 1);
    const total = (of: (job: number) => number): number => {
      let sum = 0;
      for (let job = 0; job < jobs; job++) sum += of(job);
      return sum / jobs;
    };
    const at = (column: Float64Array | Uint8Array, job: number): number => column[job] ?? Number.NaN;
    const measured = {
      performance: total((job) => at(trace.performance, job)),
      gpuJobs: total((job) => (at(trace.gpus, job) > 0 ? 1 : 0)),
      cores: total((job) => at(trace.cores, job)),
      gpus: total((job) => at(trace.gpus, job)),
      hours: total((job) => at(trace.durationSec, job) / 3600),
      gpuHours: total((job) => (at(trace.gpus, job) * at(trace.durationSec, job)) / 3600),
    };
    const expected = {
      performance: 0.3895,
      gpuJobs: 0.37,
      cores: 26.2,
      gpus: 1.117,
      hours: 1.385,
      gpuHours: 4.26,
    };
    const off = Object.entries(expected).filter(([name, value]) => {
      return Math.abs(measured[name as keyof typeof measured] / value - 1) > 0.05;
    });
    expect(off).toEqual([]);
    const sizes = new Map<number, number>();
    for (const submit of trace.submitSec) sizes.set(submit, (sizes.get(submit) ?? 0) + 1);
    const bursts = [...sizes.values()].filter((size) => size > 1);
    expect(bursts.length / sizes.size).toBeCloseTo(0.0955, 2);
    expect(Math.min(...bursts)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...bursts)).toBeLessThanOrEqual(200);
    expect([...trace.submitSec].every((submit, job) => job === 0 || submit >= at(trace.submitSec, job - 1))).toBe(true);
  });

  it("rejects a workload that does not fit into memory, and an empty mix", () => {
    const flood = { ...publishedArrivals, perHour: 1e6 };
    expect(() => generateTrace({ mix: publishedMix, arrivals: flood, hours: 1e6 }, seededRandom(1))).toThrow(
      "fewer hours",
    );
    expect(() => generateTrace({ ...published, mix: [], hours: 1 }, seededRandom(1))).toThrow("at least one class");
  });
});
