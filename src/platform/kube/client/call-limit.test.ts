import { getEventListeners } from "node:events";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { CallLimit } from "./call-limit.ts";

const ms = milliseconds;
const make = (perSecond: number, burst: number, queue = 100) => {
  const clock = new VirtualClock();
  return { clock, limit: new CallLimit({ clock, perSecond, burst, queue }) };
};

describe("CallLimit", () => {
  it("sends a burst at once and the remaining calls one by one in order", async () => {
    const { clock, limit } = make(10, 3);
    const went: [number, number][] = [];
    for (let call = 0; call < 6; call++) {
      void (async () => {
        await limit.take();
        went.push([call, clock.monotonic()]);
      })();
    }
    expect(limit.waiting).toBe(3);
    await clock.advanceAsync(ms(1000));
    expect(went.map(([call]) => call)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(went.map(([, at]) => Math.round(at))).toEqual([0, 0, 0, 100, 200, 300]);
    expect(clock.waiting).toBe(0);
  });

  it("refills up to the burst size after an idle time", async () => {
    const { clock, limit } = make(10, 3);
    for (let call = 0; call < 3; call++) expect(limit.take()).toBeUndefined();
    clock.advance(ms(3_600_000));
    for (let call = 0; call < 3; call++) expect(limit.tryTake()).toBe(true);
    expect(limit.tryTake()).toBe(false);
  });

  it("never exceeds rate and burst for any arrival times", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 500 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        async (gaps, burst) => {
          const { clock, limit } = make(5, burst, 1000);
          const went: number[] = [];
          for (const gap of gaps) {
            await clock.advanceAsync(ms(gap));
            void (async () => {
              await limit.take();
              went.push(clock.monotonic());
            })();
          }
          await clock.advanceAsync(ms(60_000));
          expect(went).toHaveLength(gaps.length);
          for (const [from, start] of went.entries()) {
            for (const [more, end] of went.slice(from).entries()) {
              expect(more + 1).toBeLessThanOrEqual(burst + ((end - start) / 1000) * 5 + 1e-6);
            }
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("rejects a call at once if the queue is full", async () => {
    const { clock, limit } = make(1, 1, 2);
    expect(limit.tryTake()).toBe(true);
    const waiting = [limit.take(), limit.take()].map(async (turn) => turn);
    await expect(limit.take()).rejects.toMatchObject({ kind: "busy", notDone: true });
    await clock.advanceAsync(ms(2000));
    await Promise.all(waiting);
  });

  it("removes an aborted call from the queue and its listener from the signal", async () => {
    const { clock, limit } = make(1, 1);
    expect(limit.tryTake()).toBe(true);
    const abort = new AbortController();
    const first = limit.take(abort.signal);
    const second = limit.take();
    abort.abort(new Error("no longer wanted"));
    await expect(first).rejects.toThrow("no longer wanted");
    await clock.advanceAsync(ms(1000));
    await second;
    expect(limit.waiting).toBe(0);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
    await expect(limit.take(AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
  });

  it("rejects a call that waits too long and gives its place to the next", async () => {
    const { clock, limit } = make(1, 1);
    expect(limit.tryTake()).toBe(true);
    const first = limit.take(undefined, ms(1001));
    const late = limit.take(undefined, ms(1999));
    late?.catch(() => undefined);
    const last = limit.take(undefined, ms(2001));
    await clock.advanceAsync(ms(1999));
    await first;
    await expect(late).rejects.toMatchObject({ kind: "busy", notDone: true });
    expect(limit.waiting).toBe(1);
    await clock.advanceAsync(ms(1));
    await last;
    expect(clock.waiting).toBe(0);
  });

  it.each([
    [0, 1, 1],
    [-1, 1, 1],
    [Number.NaN, 1, 1],
    [1, 0, 1],
    [1, 1, -1],
    [1, 1, Number.NaN],
  ])("rejects a limit of %d per second, burst %d, queue %d", (perSecond, burst, queue) => {
    expect(() => make(perSecond, burst, queue)).toThrow(RangeError);
  });
});
