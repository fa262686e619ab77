import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { Deadline, endsWithin, withDeadline, withTimeLimit } from "./index.ts";
import { VirtualClock } from "./testing/index.ts";

const LENGTH = milliseconds(100);
const never = async () => new Promise<never>(() => undefined);

describe("Deadline", () => {
  it("aborts its signal with the message when the time is over", () => {
    const clock = new VirtualClock();
    const deadline = new Deadline(clock, LENGTH, { message: "too late" });
    clock.advance(milliseconds(99));
    expect([deadline.signal.aborted, deadline.expired]).toEqual([false, false]);
    clock.advance(milliseconds(1));
    expect([deadline.signal.aborted, deadline.expired]).toEqual([true, true]);
    expect(deadline.signal.reason).toEqual(new Error("too late"));
  });

  it.each(["before", "after"])("aborts with the caller's reason when the caller aborts %s its start", (when) => {
    const caller = new AbortController();
    if (when === "before") caller.abort("stopped");
    const deadline = new Deadline(new VirtualClock(), LENGTH, { signal: caller.signal });
    caller.abort("stopped");
    expect([deadline.signal.reason, deadline.expired]).toEqual(["stopped", false]);
  });

  it("still follows the caller after stopTimer, and nothing after release", () => {
    const clock = new VirtualClock();
    const caller = new AbortController();
    const options = { signal: caller.signal };
    const [stopped, released] = [new Deadline(clock, LENGTH, options), new Deadline(clock, LENGTH, options)];
    stopped.stopTimer();
    released.release();
    expect([clock.waiting, getEventListeners(caller.signal, "abort").length]).toEqual([0, 1]);
    caller.abort();
    expect([stopped.signal.aborted, released.signal.aborted]).toEqual([true, false]);
  });
});

describe("withTimeLimit", () => {
  it("returns the result and leaves no timer and no listener behind", async () => {
    const clock = new VirtualClock();
    const { signal } = new AbortController();
    expect(await withTimeLimit(clock, LENGTH, async () => 7, { signal })).toBe(7);
    expect([clock.waiting, getEventListeners(signal, "abort").length]).toEqual([0, 0]);
  });

  it("aborts the work's signal after the time", async () => {
    const clock = new VirtualClock();
    const work = withTimeLimit(clock, LENGTH, async (limit) => clock.sleep(milliseconds(1000), limit));
    const failure = work.catch(String);
    await clock.advanceAsync(LENGTH);
    expect(await failure).toBe("Error: not done within 100 ms");
  });
});

describe("withDeadline", () => {
  it("rejects when work that cannot be aborted takes too long", async () => {
    const clock = new VirtualClock();
    const failure = withDeadline(clock, LENGTH, "answer", never()).catch(String);
    await clock.advanceAsync(LENGTH);
    expect(await failure).toBe("Error: no answer within 100 ms");
    expect(await withDeadline(clock, LENGTH, "answer", Promise.resolve(7))).toBe(7);
    expect(clock.waiting).toBe(0);
  });
});

describe("endsWithin", () => {
  it("says whether the work ended in time, and rejects if it failed in time", async () => {
    const clock = new VirtualClock();
    expect(await endsWithin(clock, LENGTH, Promise.resolve())).toBe(true);
    await expect(endsWithin(clock, LENGTH, Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    const late = endsWithin(clock, LENGTH, never());
    await clock.advanceAsync(LENGTH);
    expect(await late).toBe(false);
    expect(clock.waiting).toBe(0);
  });

  it.each(["before", "during"])("returns false when the signal aborts %s the wait", async (when) => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    if (when === "before") stop.abort();
    const waited = endsWithin(clock, LENGTH, never(), stop.signal);
    stop.abort();
    expect(await waited).toBe(false);
    expect([clock.waiting, getEventListeners(stop.signal, "abort").length]).toEqual([0, 0]);
  });
});
