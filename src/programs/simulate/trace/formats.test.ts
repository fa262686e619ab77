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
});

describe("the Philly job log", () => {
  const job = (submitted: string, attempts: readonly object[]) => ({
    status: "Pass",
    vc: "v",
    jobid: submitted,
    attempts,
    submitted_time: submitted,
    user: "u",
  });
  const attempt = (start: string, end: string | null, ...servers: readonly (readonly string[])[]) => ({
    start_time: start,
    end_time: end,
    detail: servers.map((gpus, index) => ({ ip: `m${index}`, gpus })),
  });

  it("becomes a job for each server of the last attempt, as long as all attempts together", async () => {
    const text = JSON.stringify([
      job("2017-10-07 01:10:00", [
        attempt("2017-10-07 01:12:00", "2017-10-07 01:13:00", ["gpu0"]),
        attempt("2017-10-07 01:13:30", "2017-10-07 01:15:30", ["gpu0", "gpu1"], ["gpu4"]),
      ]),
      job("2017-10-07 01:00:00", [attempt("2017-10-07 01:00:00", "2017-10-07 02:00:00", ["gpu0"])]),
      job("2017-10-07 01:20:00", []),
      job("2017-10-07 01:30:00", [attempt("2017-10-07 01:31:00", null, ["gpu0"])]),
    ]);
    // The text arrives in pieces, and only the first one tells that it is JSON.
    const trace = await readTrace(chunks(text.slice(0, 40), text.slice(40)));
    if (!trace.ok) throw new Error(trace.error);
    expect([...trace.value.submitSec]).toEqual([0, 600, 600]);
    expect([...trace.value.gpus]).toEqual([1, 2, 1]);
    expect([...trace.value.cores]).toEqual([8, 16, 8]);
    expect([...trace.value.durationSec]).toEqual([3600, 180, 180]);
    expect([...trace.value.performance]).toEqual([0, 0, 0]);
    expect([...trace.value.computeBound]).toEqual([1, 1, 1]);
  });

  it.each([
    ["[1]", /no Philly job log/],
    ["[", /starts like JSON but is not/],
    ["[]", /no job that ran on a GPU/],
  ])("%s is rejected with a reason", async (text, reason) => {
    const trace = await readTrace(chunks(text));
    expect(trace.ok ? "" : trace.error).toMatch(reason);
  });
});
