import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import { backoffDelay, pollUntil } from "./index.ts";

const backoff = { first: milliseconds(100), longest: milliseconds(1000) };

describe("backoffDelay", () => {
  it("doubles with every failure up to the longest delay", () => {
    expect([0, 1, 2, 3, 4, 5, 6, 10_000].map((failures) => backoffDelay(failures, backoff))).toEqual([
      100, 100, 200, 400, 800, 1000, 1000, 1000,
    ]);
  });

  it("varies by the jitter share in either direction", () => {
    const delays = [0, 0.5, 1].map((value) => backoffDelay(2, { ...backoff, jitter: 0.5 }, { next: () => value }));
    expect(delays).toEqual([100, 200, 300]);
  });

  it("applies the jitter after the longest delay, so that capped callers do not return together", () => {
    expect(backoffDelay(50, { ...backoff, jitter: 0.1 }, { next: () => 1 })).toBe(1100);
  });

  it("never exceeds an unbounded number's range", () => {
    expect(backoffDelay(5000, { first: milliseconds(1), longest: milliseconds(Number.MAX_VALUE) })).toBe(2 ** 50);
  });
});

describe("pollUntil", () => {
  const limits = { first: milliseconds(1000), longest: milliseconds(5000), timeout: milliseconds(20_000) };
  const asking = (holds: (turn: number) => boolean) => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const result = pollUntil(clock, limits, async () => {
      at.push(clock.monotonic() / 1000);
      return holds(at.length);
    });
    return { clock, at, result };
  };

  it("asks less and less often, and a last time when the time is over", async () => {
    const { clock, at, result } = asking(() => false);
    await clock.advanceAsync(milliseconds(60_000));
    expect(await result).toBe(false);
    expect(at).toEqual([0, 1, 3, 7, 12, 17, 20]);
  });

  it("ends when the condition holds", async () => {
    const { clock, at, result } = asking((turn) => turn === 3);
    await clock.advanceAsync(milliseconds(60_000));
    expect(await result).toBe(true);
    expect(at).toEqual([0, 1, 3]);
  });
});
