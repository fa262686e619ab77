import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { type Clock, systemClock } from "./index.ts";
import { VirtualClock } from "./testing/index.ts";

const ms = milliseconds;

/** A clock, and a function that advances it until a promise settles. */
interface Subject {
  readonly clock: Clock;
  readonly passUntil: <Value>(done: Promise<Value>) => Promise<Value>;
}

const subjects: Readonly<Record<string, () => Subject>> = {
  systemClock: () => ({ clock: systemClock, passUntil: async (done) => done }),
  VirtualClock: () => {
    const clock = new VirtualClock();
    return {
      clock,
      passUntil: async (done) => {
        const state = { over: false };
        const end = () => {
          state.over = true;
        };
        done.then(end, end);
        for (let turn = 0; turn < 1000 && !state.over; turn++) await clock.advanceAsync(ms(1));
        return done;
      },
    };
  },
};

describe.each(Object.entries(subjects))("the contract of a clock: %s", (_name, make) => {
  it("calls back once, after the duration has passed in monotonic time", async () => {
    const { clock, passUntil } = make();
    const start = clock.monotonic();
    let calls = 0;
    await passUntil(
      new Promise<void>((resolve) => {
        clock.after(ms(3), () => {
          calls++;
          resolve();
        });
        expect(calls).toBe(0);
      }),
    );
    expect(clock.monotonic() - start).toBeGreaterThanOrEqual(3);
    await passUntil(clock.sleep(ms(5)));
    expect(calls).toBe(1);
  });

  it("never calls back before after() returns, not even for zero or less", async () => {
    const { clock, passUntil } = make();
    for (const length of [0, -1, -Infinity]) {
      let returned = false;
      const called = new Promise<boolean>((resolve) => {
        clock.after(ms(length), () => resolve(returned));
      });
      returned = true;
      expect(await passUntil(called)).toBe(true);
    }
  });

  it("runs timers in the order of their time", async () => {
    const { clock, passUntil } = make();
    const order: string[] = [];
    const late = clock.sleep(ms(20)).then(() => order.push("late"));
    clock.after(ms(10), () => order.push("middle"));
    clock.after(ms(1), () => order.push("early"));
    await passUntil(late);
    expect(order).toEqual(["early", "middle", "late"]);
  });

  it("does not call back after a cancel, and may be cancelled repeatedly", async () => {
    const { clock, passUntil } = make();
    let calls = 0;
    const timer = clock.after(ms(2), () => calls++);
    timer.cancel();
    timer.cancel();
    await passUntil(clock.sleep(ms(5)));
    expect(calls).toBe(0);

    const done = clock.after(ms(1), () => calls++);
    await passUntil(clock.sleep(ms(5)));
    done.cancel();
    expect(calls).toBe(1);
  });

  it("sleeps at least as long as asked", async () => {
    const { clock, passUntil } = make();
    for (const length of [0, 1, 2.5]) {
      const start = clock.monotonic();
      await passUntil(clock.sleep(ms(length)));
      expect(clock.monotonic() - start).toBeGreaterThanOrEqual(length);
    }
  });

  it("ends a sleep on abort with the signal's reason, at once", async () => {
    const { clock } = make();
    const abort = new AbortController();
    const sleep = clock.sleep(ms(Infinity), abort.signal);
    const reason = new Error("shutting down");
    abort.abort(reason);
    await expect(sleep).rejects.toBe(reason);
  });

  it("rejects at once if the signal is already aborted", async () => {
    const { clock } = make();
    const reason = new Error("too late");
    await expect(clock.sleep(ms(0), AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it("leaves no listener on the signal, however the sleep ends", async () => {
    const { clock, passUntil } = make();
    const abort = new AbortController();
    await passUntil(clock.sleep(ms(1), abort.signal));
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
    const aborted = clock.sleep(ms(1000), abort.signal);
    abort.abort();
    await expect(aborted).rejects.toThrow("aborted");
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  });

  it("rejects NaN", async () => {
    const { clock } = make();
    expect(() => clock.after(ms(Number.NaN), () => undefined)).toThrow(RangeError);
    await expect(clock.sleep(ms(Number.NaN))).rejects.toThrow(RangeError);
  });

  it("never steps monotonic time back", async () => {
    const { clock, passUntil } = make();
    let last = clock.monotonic();
    for (let turn = 0; turn < 5; turn++) {
      await passUntil(clock.sleep(ms(1)));
      const time = clock.monotonic();
      expect(time).toBeGreaterThan(last);
      last = time;
    }
  });
});
