import { describe, expect, it } from "vitest";
import { readTrace } from "./read.ts";

async function* chunks(...texts: readonly string[]): AsyncGenerator<string> {
  for (const text of texts) yield text;
}

const ALIBABA =
  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time";

describe("Alibaba's GPU pod list of 2023", () => {
  const read = async (...lines: readonly string[]) => readTrace(chunks([ALIBABA, ...lines, ""].join("\n")));

  it("becomes jobs in order of creation, the first of them at 0", async () => {
    const trace = await read(
      "pod-b,16000,32768,2,1000,V100M16|V100M32,LS,Succeeded,1300,2100,1400",
      "pod-a,4500,15258,1,250,,BE,Running,1000,1600,1000",
    );
    if (!trace.ok) throw new Error(trace.error);
    const { value } = trace;
    expect([...value.submitSec]).toEqual([0, 300]);
    expect([...value.cores]).toEqual([4.5, 16]);
    expect([...value.gpus]).toEqual([1, 2]);
    expect([...value.durationSec]).toEqual([600, 700]);
    expect([...value.performance]).toEqual([0, 1]);
    // A quarter of a board is used a quarter as much, and serves requests; whole boards train.
    expect([...value.gpuUtil].map((util) => util.toFixed(3))).toEqual(["0.175", "0.700"]);
    expect([...value.computeBound]).toEqual([0, 1]);
  });

  it("leaves out pods that never ran or have not ended", async () => {
    const trace = await read(
      "a,1000,1,0,0,,BE,Pending,10,50,",
      "b,1000,1,0,0,,BE,Running,10,,10",
      "c,1000,1,0,0,,BE,Failed,10,70,20",
    );
    expect(trace.ok && trace.value.length).toBe(1);
    expect(await read("a,1000,1,0,0,,BE,Pending,10,50,")).toEqual({
      ok: false,
      error: "it has no pod that ran and ended",
    });
  });

  it.each([
    "a,1000,1,0,0,,BE,Failed,10,1e300,20",
    "a,1e300,1,0,0,,BE,Failed,10,70,20",
    "a,1000,1,2000,0,,BE,Failed,10,70,20",
    "a,1000,1,0,0,,BE,Failed,1e12,1000000000070,1e12",
  ])("rejects a job that would never end or fit: %s", async (line) => {
    const trace = await read("first,1000,1,0,0,,BE,Failed,10,70,20", line);
    expect(trace.ok ? "" : trace.error).toMatch(/^a job of .* expected at most 100000 cores/);
  });
});
