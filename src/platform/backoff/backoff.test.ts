import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { backoffDelay } from "./index.ts";

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
