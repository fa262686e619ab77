import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { HungCallGuard } from "./hung-call-guard.ts";

const LIMIT = milliseconds(5_000);

function gate() {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const through = new HungCallGuard(clock);
  /** A call that the test completes. */
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

/** Lets promises go on: a virtual clock does that before it moves. */
const settled = async (): Promise<void> => new VirtualClock().advanceAsync(milliseconds(0));

describe("HungCallGuard", () => {
  it("runs two calls at a time, and the next when one ends", async () => {
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

  it("closes only the lane of a timed-out call until it returns", async () => {
    const { call, clock, through } = gate();
    const hung = call("a");
    await settled();
    clock.advance(LIMIT);
    expect(await hung.outcome).toBe("call about a did not return within 5000 ms");
    const refusal = "skipped: call about a has not returned since 2030-01-01T00:00:00Z; the driver hangs";
    // The message stays the same on every retry, because each change of a status message is an API write.
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

  it("rejects new and queued calls at once while every slot hangs", async () => {
    const { call, clock } = gate();
    const hung = [call("a"), call("b")];
    const waiting = call("c");
    await settled();
    clock.advance(LIMIT);
    expect(await waiting.outcome).toContain("skipped");
    expect(await call("d").outcome).toContain("skipped");
    expect(waiting.started()).toBe(false);
    for (const one of hung) one.end();
    await settled();
    const later = call("c");
    later.end();
    expect(await later.outcome).toBe("answer");
  });

  it("does not start a cancelled call, and keeps count of running calls", async () => {
    const { call, through } = gate();
    const stop = new AbortController();
    const running = call("a", stop.signal);
    await settled();
    stop.abort();
    expect(await running.outcome).toBe("call about a was abandoned by its caller");
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
