import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { systemClock, VirtualClock } from "../../clock/index.ts";
import { HungCallGuard } from "./hung-call-guard.ts";

const LIMIT = milliseconds(5_000);

function gate() {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const through = new HungCallGuard(clock);
  /** A call that ends when told to. */
  const call = (lane: string, signal?: AbortSignal) => {
    const work = Promise.withResolvers<string>();
    let started = false;
    const outcome = through
      .run({
        lane,
        what: `call about ${lane}`,
        limit: LIMIT,
        signal,
        work: async () => {
          started = true;
          return work.promise;
        },
      })
      .catch((error: unknown) => (error instanceof Error ? error.message : "?"));
    return {
      outcome,
      end: () => work.resolve("answer"),
      fail: () => work.reject(new Error("no")),
      started: () => started,
    };
  };
  return { clock, through, call };
}

const settled = async (): Promise<void> => systemClock.sleep(milliseconds(0));

describe("the gate before NVML", () => {
  it("lets two calls through at a time, and the next when one ends", async () => {
    const { call, through } = gate();
    const calls = ["a", "b", "c"].map((lane) => call(lane));
    await settled();
    expect(calls.map(({ started }) => started())).toEqual([true, true, false]);
    calls[1]?.fail();
    await settled();
    expect(calls[2]?.started()).toBe(true);
    expect(await calls[1]?.outcome).toBe("no");
    for (const one of calls) one.end();
    expect(await Promise.all(calls.map(async ({ outcome }) => outcome))).toEqual(["answer", "no", "answer"]);
    expect(through.stuck).toBe(false);
  });

  it("closes the lane of a call that took too long until it returns, and no other", async () => {
    const { call, clock, through } = gate();
    const hung = call("a");
    await settled();
    clock.advance(LIMIT);
    expect(await hung.outcome).toBe("call about a gave no answer within 5000 ms");
    const refusal = "not tried: call about a has not returned since 2030-01-01T00:00:00Z, the driver hangs";
    // The same words at every later try: each change of a status message is a write to the API.
    for (const passed of [0, 15_000, 3_600_000]) {
      clock.advance(milliseconds(passed));
      expect(await call("a").outcome).toBe(refusal);
    }
    const other = call("b");
    other.end();
    expect(await other.outcome).toBe("answer");
    expect(through.stuck).toBe(true);
    hung.end();
    await settled();
    expect(through.stuck).toBe(false);
    const again = call("a");
    again.end();
    expect(await again.outcome).toBe("answer");
  });

  it("refuses everybody at once while every place hangs, also those that wait for one", async () => {
    const { call, clock } = gate();
    const hung = [call("a"), call("b")];
    const waiting = call("c");
    await settled();
    clock.advance(LIMIT);
    expect(await waiting.outcome).toContain("not tried");
    expect(await call("d").outcome).toContain("not tried");
    expect(waiting.started()).toBe(false);
    for (const one of hung) one.end();
    await settled();
    const later = call("c");
    later.end();
    expect(await later.outcome).toBe("answer");
  });

  it("does not start what nobody waits for any longer, and keeps count of what it started", async () => {
    const { call, through } = gate();
    const stop = new AbortController();
    const running = call("a", stop.signal);
    await settled();
    stop.abort();
    expect(await running.outcome).toBe("call about a was not waited for");
    expect(through.stuck).toBe(true);
    const late = call("b", stop.signal);
    await late.outcome;
    expect(late.started()).toBe(false);
    running.end();
    await settled();
    expect(through.stuck).toBe(false);
  });

  it("leaves no timer behind", async () => {
    const { call, clock } = gate();
    const one = call("a");
    await settled();
    one.end();
    await one.outcome;
    expect(clock.waiting).toBe(0);
  });
});
