import { describe, expect, it } from "vitest";
import { seededRandom } from "../../platform/random/index.ts";
import { generateTrace, workloadOfLoad } from "./trace/generate.ts";

const HOURS = 200;

describe("workloadOfLoad", () => {
  it.each([0.3, 0.85])("requests %s of the cores and of the GPUs, for any cluster size", (load) => {
    const capacity = { nodes: 250, cores: 200 * 96, gpus: 50 * 8 };
    const trace = generateTrace(workloadOfLoad(load, capacity, HOURS), seededRandom(1));
    let coreSeconds = 0;
    let gpuSeconds = 0;
    for (let job = 0; job < trace.length; job++) {
      const seconds = trace.durationSec[job] ?? 0;
      gpuSeconds += (trace.gpus[job] ?? 0) * seconds;
      if (trace.gpus[job] === 0) coreSeconds += (trace.cores[job] ?? 0) * seconds;
    }
    const available = HOURS * 3600;
    expect(Math.abs(coreSeconds / available / capacity.cores / load - 1)).toBeLessThan(0.1);
    expect(Math.abs(gpuSeconds / available / capacity.gpus / load - 1)).toBeLessThan(0.1);
  });

  it("generates no GPU jobs without GPUs", () => {
    const trace = generateTrace(workloadOfLoad(0.5, { nodes: 4, cores: 384, gpus: 0 }, 5), seededRandom(1));
    expect(trace.length).toBeGreaterThan(20);
    expect(trace.gpus.every((gpus) => gpus === 0)).toBe(true);
  });
});
