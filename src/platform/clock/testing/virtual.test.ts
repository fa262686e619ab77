import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "./virtual.ts";

const ms = milliseconds;

describe("VirtualClock", () => {
  it("starts at the given time and does not advance by itself", () => {
    const clock = new VirtualClock(instant(1_700_000_000_000));
    expect(clock.now()).toBe(1_700_000_000_000);
    expect(clock.monotonic()).toBe(0);
    clock.advance(ms(1500));
    expect(clock.now()).toBe(1_700_000_001_500);
    expect(clock.monotonic()).toBe(1500);
  });

  it("runs due timers in order of time, ties in order of registration, each at its own time", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 20 }), { maxLength: 60 }), fc.nat({ max: 20 }), (lengths, moved) => {
        const clock = new VirtualClock();
        const ran: { index: number; at: number }[] = [];
        lengths.forEach((length, index) => clock.after(ms(length), () => ran.push({ index, at: clock.monotonic() })));
        clock.advance(ms(moved));
        const expected = lengths
          .map((length, index) => ({ index, at: length }))
          .filter(({ at }) => at <= moved)
          .toSorted((a, b) => a.at - b.at || a.index - b.index);
        expect(ran).toEqual(expected);
        expect(clock.monotonic()).toBe(moved);
        expect(clock.waiting).toBe(lengths.length - expected.length);
      }),
    );
  });

  it("runs the remaining timers in order after any cancellations", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 30 }), fc.boolean()), { maxLength: 80 }), (plan) => {
        const clock = new VirtualClock();
        const ran: number[] = [];
        const timers = plan.map(([length], index) => clock.after(ms(length), () => ran.push(index)));
        plan.forEach(([, cancelled], index) => cancelled && timers[index]?.cancel());
        const retained = plan
          .map(([length, cancelled], index) => ({ length, cancelled, index }))
          .filter(({ cancelled }) => !cancelled)
          .toSorted((a, b) => a.length - b.length || a.index - b.index);
        expect(clock.waiting).toBe(retained.length);
        clock.advance(ms(30));
        expect(ran).toEqual(retained.map(({ index }) => index));
      }),
      { numRuns: 500 },
    );
  });

  it("keeps the order when a cancelled timer's place is filled from another branch of the queue", () => {
    const clock = new VirtualClock();
    const ran: number[] = [];
    const lengths = [0, 10, 1, 20, 21, 2, 3, 30, 31, 32, 33, 4, 5, 6, 7];
    const timers = lengths.map((length) => clock.after(ms(length), () => ran.push(length)));
    timers[3]?.cancel();
    clock.advance(ms(40));
    expect(ran).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 10, 21, 30, 31, 32, 33]);
  });

  it("runs timers that a callback registers within the same advance", () => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const tick = (): void => {
      at.push(clock.monotonic());
      clock.after(ms(10), tick);
    };
    clock.after(ms(10), tick);
    clock.advance(ms(35));
    expect(at).toEqual([10, 20, 30]);
    expect(clock.untilNext).toBe(5);
  });

  it("drives a loop that awaits sleep as often as in real time", async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const at: number[] = [];
    const loop = (async () => {
      for (;;) {
        await clock.sleep(ms(30_000), abort.signal);
        // Work that takes several microtasks must not lose a tick.
        for (let turn = 0; turn < 10; turn++) await Promise.resolve();
        at.push(clock.monotonic());
      }
    })();
    await clock.advanceAsync(ms(3_600_000));
    expect(at).toHaveLength(120);
    expect(at.at(0)).toBe(30_000);
    expect(at.at(-1)).toBe(3_600_000);
    abort.abort(new Error("stop"));
    await expect(loop).rejects.toThrow("stop");
    expect(clock.waiting).toBe(0);
  });

  it("interleaves loops by time, not by number", async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const seen: string[] = [];
    const every = async (name: string, length: number): Promise<void> => {
      for (;;) {
        await clock.sleep(ms(length), abort.signal);
        seen.push(`${name}@${clock.monotonic()}`);
      }
    };
    const loops = [every("slow", 5), every("fast", 2)];
    await clock.advanceAsync(ms(6));
    expect(seen).toEqual(["fast@2", "fast@4", "slow@5", "fast@6"]);
    abort.abort();
    await Promise.allSettled(loops);
  });

  it("leaves no timer behind an aborted sleep", async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const sleep = clock.sleep(ms(1000), abort.signal);
    expect(clock.waiting).toBe(1);
    abort.abort();
    await expect(sleep).rejects.toThrow("aborted");
    expect(clock.waiting).toBe(0);
    expect(clock.untilNext).toBeUndefined();
  });

  it("steps wall-clock time either way without moving timers", () => {
    const clock = new VirtualClock(instant(10_000));
    let calls = 0;
    clock.after(ms(100), () => calls++);
    clock.step(ms(-5000));
    expect(clock.now()).toBe(5000);
    clock.step(ms(3_600_000));
    expect(clock.now()).toBe(3_605_000);
    expect(clock.monotonic()).toBe(0);
    expect(calls).toBe(0);
    clock.advance(ms(100));
    expect(clock.now()).toBe(3_605_100);
    expect(calls).toBe(1);
  });

  it("rethrows an error of a callback and continues afterwards", () => {
    const clock = new VirtualClock();
    let calls = 0;
    clock.after(ms(1), () => {
      throw new Error("broken");
    });
    clock.after(ms(2), () => calls++);
    expect(() => clock.advance(ms(5))).toThrow("broken");
    expect(clock.monotonic()).toBe(1);
    clock.advance(ms(5));
    expect(calls).toBe(1);
    expect(clock.monotonic()).toBe(6);
  });

  it("does not step back when a callback advances the time", () => {
    const clock = new VirtualClock();
    const at: number[] = [];
    clock.after(ms(1), () => clock.advance(ms(100)));
    clock.after(ms(2), () => at.push(clock.monotonic()));
    clock.after(ms(200), () => at.push(clock.monotonic()));
    clock.advance(ms(5));
    expect(at).toEqual([2]);
    expect(clock.monotonic()).toBe(101);
  });

  it("reports an endless loop of zero timers instead of hanging", () => {
    const clock = new VirtualClock();
    const spin = (): void => {
      clock.after(ms(0), spin);
    };
    spin();
    expect(() => clock.advance(ms(1))).toThrow(/keeps waiting 0 ms/);
  });

  it.each([-1, Number.NaN, Infinity])("rejects an advance by %d", async (length) => {
    const clock = new VirtualClock();
    expect(() => clock.advance(ms(length))).toThrow(RangeError);
    await expect(clock.advanceAsync(ms(length))).rejects.toThrow(RangeError);
  });

  it.each([Number.NaN, -Infinity])("rejects a step by %d", (length) => {
    expect(() => new VirtualClock().step(ms(length))).toThrow(RangeError);
  });
});
