import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { ScaledClock } from "../../platform/clock/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { keepTime } from "./keep-time.ts";

const SPEED = 60;

/** Simulated seconds in ten real ones, with an API that answers after `latency`. */
async function passedIn10Seconds(latency: number): Promise<number> {
  const real = new VirtualClock();
  const clock = new ScaledClock(real, SPEED);
  const end = new AbortController();
  const call = async (signal: AbortSignal) => real.sleep(milliseconds(latency), signal);
  const kept = keepTime({ clock, ioClock: real, call, onGranted: () => undefined }, end.signal);
  await real.advanceAsync(milliseconds(10_000));
  const passed = clock.monotonic() / 1000;
  end.abort();
  await kept;
  return passed;
}

describe("keepTime", () => {
  it("X-162 keeps the speed while the API answers in time", async () => {
    expect(await passedIn10Seconds(5)).toBeCloseTo(10 * SPEED, 0);
  });

  it.each([
    [150, 0.5],
    [950, 0.1],
  ])("X-162 slows the time down when answers take %d ms, to a share of %d", async (latency, share) => {
    expect(await passedIn10Seconds(latency)).toBeCloseTo(10 * SPEED * share, -1);
  });

  it("X-162 lets no pod run under old caps because programs are late: no time passes without an answer", async () => {
    const real = new VirtualClock();
    const clock = new ScaledClock(real, SPEED);
    const end = new AbortController();
    let answer = Promise.withResolvers<void>();
    const call = async () => answer.promise;
    const kept = keepTime({ clock, ioClock: real, call, onGranted: () => undefined }, end.signal);
    let isWorkDone = false;
    clock.after(milliseconds(60_000), () => (isWorkDone = true));
    await real.advanceAsync(milliseconds(3_600_000));
    expect([clock.monotonic(), isWorkDone]).toEqual([100 * SPEED, false]);
    answer.resolve();
    await real.advanceAsync(milliseconds(1100));
    expect(isWorkDone).toBe(true);
    answer = Promise.withResolvers();
    end.abort();
    answer.resolve();
    await kept;
  });

  it("X-162 asks again when no answer comes, and lets a little time pass", async () => {
    const real = new VirtualClock();
    const clock = new ScaledClock(real, SPEED);
    const end = new AbortController();
    let calls = 0;
    const call = async (signal: AbortSignal) => {
      calls++;
      await real.sleep(milliseconds(Infinity), signal);
    };
    const kept = keepTime({ clock, ioClock: real, call, onGranted: () => undefined }, end.signal);
    await real.advanceAsync(milliseconds(60_000));
    expect([calls, clock.monotonic()]).toEqual([6, 600 * SPEED]);
    end.abort();
    await kept;
  });
});
