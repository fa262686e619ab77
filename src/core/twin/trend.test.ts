import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PowerSource } from "../api/index.ts";
import { instant, watts } from "../units/index.ts";
import { type PowerSample, type PowerWindow, slopeOf, withSample } from "./trend.ts";

const MINUTE = 60_000;
const START = Date.UTC(2026, 2, 1, 12);
const sample = (minute: number, power: number, source: PowerSource = "agent"): PowerSample => ({
  at: instant(START + minute * MINUTE),
  power: watts(power),
  source,
});
type Point = readonly [minute: number, power: number, source?: PowerSource];
const at = (minute: number) => instant(START + minute * MINUTE);
/** Samples arrive when they are taken or later: the clock never steps back. */
const windowOf = (...points: readonly Point[]): PowerWindow => {
  let now = -Infinity;
  return points.reduce<PowerWindow>((window, [minute, power, source]) => {
    now = Math.max(now, minute);
    return withSample(window, sample(minute, power, source), at(now));
  }, []);
};
const slope = (window: PowerWindow, minute: number) => slopeOf(window, at(minute));
/** As of its newest point. */
const slopeOfPoints = (...points: readonly Point[]) =>
  slope(windowOf(...points), Math.max(0, ...points.map(([minute]) => minute)));

/** The least-squares slope of exactly these points. */
function fitted(...points: readonly Point[]): number {
  const mean = (figures: readonly number[]) => figures.reduce((sum, one) => sum + one, 0) / figures.length;
  const [x, y] = [mean(points.map(([minute]) => minute)), mean(points.map(([, power]) => power))];
  const covariance = mean(points.map(([minute, power]) => (minute - x) * (power - y)));
  return covariance / mean(points.map(([minute]) => (minute - x) ** 2));
}

describe("the slope of a window", () => {
  it("TWN-10 X-81 is the slope in watts per minute, positive when rising", () => {
    expect(slopeOfPoints([0, 300], [1, 350])).toBe(50);
    expect(slopeOfPoints([0, 300], [1, 290], [2, 280], [3, 270], [4, 260])).toBe(-10);
    expect(slopeOfPoints([0, 300], [2, 300], [4, 300])).toBe(0);
  });

  it("X-81 fits all samples, not the first and the last", () => {
    // Means 2 min and 130 W; deviations (−2,−1,0,1,2) × (−30,−20,−30,30,50) = 60 + 20 + 0 + 30 + 100 = 210; variance 10.
    expect(slopeOfPoints([0, 100], [1, 110], [2, 100], [3, 160], [4, 180])).toBe(21);
  });

  it("X-81 is 0 for fewer than two samples", () => {
    expect(slope([], 0)).toBe(0);
    expect(slopeOfPoints([0, 300])).toBe(0);
    expect(slopeOfPoints([0, 300], [0, 400])).toBe(0);
  });

  it("X-81 covers the last five minutes, boundary included", () => {
    const window = windowOf([0, 300], [1, 400]);
    expect(slope(window, 5)).toBe(100);
    expect(slope(window, 5.01)).toBe(0);
    expect(slope(window, 60)).toBe(0);
  });

  it("X-81 recovers the slope of a line from any sampling times", () => {
    const offsets = fc.uniqueArray(fc.integer({ min: 0, max: 5 * MINUTE }), { minLength: 2, maxLength: 40 });
    fc.assert(
      fc.property(
        offsets,
        fc.integer({ min: -400, max: 400 }),
        fc.integer({ min: 2000, max: 9000 }),
        (times, rise, base) => {
          const line = times.map((offset) => sample(offset / MINUTE, base + (rise * offset) / MINUTE));
          const window = line.reduce<PowerWindow>((known, point) => withSample(known, point, at(5)), []);
          // Rounding of a reading is some 1e-12 W; what that makes of the slope depends on how far apart the samples are.
          const spread = (Math.max(...times) - Math.min(...times)) / MINUTE;
          expect(Math.abs(slope(window, 5) - rise)).toBeLessThan(1e-10 / spread + 1e-9);
        },
      ),
    );
  });

  it("is finite for any readings", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double(), fc.double(), fc.double())), fc.double(), (points, end) => {
        let window: PowerWindow = [];
        for (const [time, power, now] of points)
          window = withSample(window, { at: instant(time), power: watts(power), source: "agent" }, instant(now));
        expect(Number.isFinite(slopeOf(window, instant(end)))).toBe(true);
      }),
    );
    expect(slopeOfPoints([0, 1e308], [1, 0], [2, 1e308])).toBe(0);
    expect(slopeOfPoints([0, 1e308], [1, 1e308])).toBe(0);
  });
});

describe("a window with one more sample", () => {
  it("X-81 keeps samples up to five minutes old and drops older ones", () => {
    expect(slopeOfPoints([0, 10], [1, 20], [5, 90])).toBeCloseTo(fitted([0, 10], [1, 20], [5, 90]), 9);
    expect(slopeOfPoints([0, 10], [1, 20], [5.001, 90])).toBeCloseTo(fitted([1, 20], [5.001, 90]), 9);
  });

  it("X-31 discards the earlier trend after a gap", () => {
    const window = windowOf([0, 100], [1, 200], [30, 900]);
    expect(slope(window, 30)).toBe(0);
    expect(slope(withSample(window, sample(31, 910), at(31)), 31)).toBeCloseTo(10, 9);
  });

  it("X-81 does not bring dropped samples back when the clock steps back slightly", () => {
    const window = windowOf([0, 100], [6, 200]);
    expect(slope(withSample(window, sample(5, 300), at(5)), 5)).toBeCloseTo(fitted([5, 300], [6, 200]), 9);
  });

  it.each([Number.NaN, Infinity, -1])("X-31 treats a power of %d as a missing sample, not as 0 W", (bad) => {
    const window = windowOf([0, 300], [1, 310]);
    expect(slope(withSample(window, sample(2, bad), at(2)), 2)).toBeCloseTo(10, 9);
    expect(slope(withSample(window, sample(2, 0), at(2)), 2)).toBeCloseTo(fitted([0, 300], [1, 310], [2, 0]), 9);
  });

  it.each([Number.NaN, Infinity])("treats a time of %d as a missing sample", (bad) => {
    const added = { ...sample(0, 200), at: instant(bad) };
    for (const before of [windowOf([0, 300], [1, 310]), withSample([], added, at(0))]) {
      const later = [added, sample(0, 300), sample(1, 310)];
      const window = later.reduce<PowerWindow>((known, point) => withSample(known, point, at(1)), before);
      expect(slope(window, 1)).toBeCloseTo(10, 9);
    }
  });

  it("X-81 sorts late samples by time and keeps the last sample for each instant", () => {
    expect(slopeOfPoints([0, 1], [2, 3], [1, 7], [3, 4])).toBeCloseTo(fitted([0, 1], [1, 7], [2, 3], [3, 4]), 9);
    expect(slopeOfPoints([0, 1], [1, 2], [1, 9], [3, 4])).toBeCloseTo(fitted([0, 1], [1, 9], [3, 4]), 9);
  });

  it("X-81 does not depend on the order of arrival", () => {
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(minutes, (seconds) => {
        const points = seconds.map((second): Point => [second / 60, second * 7 + (second % 5)]);
        expect(slopeOfPoints(...points)).toBe(slopeOfPoints(...points.toSorted(([a], [b]) => a - b)));
      }),
    );
  });

  it("X-81 ignores a sample older than five minutes", () => {
    const window = windowOf([4, 300], [8, 310]);
    expect(slope(withSample(window, sample(2.999, 900), at(8)), 8)).toBeCloseTo(2.5, 9);
    expect(slope(withSample(window, sample(3, 900), at(8)), 8)).toBeCloseTo(fitted([3, 900], [4, 300], [8, 310]), 9);
  });

  it.each([2, 4, 60, 90_000])("X-81 restarts the window when the clock is set back by %d minutes", (by) => {
    const window = withSample(windowOf([100, 300], [101, 900], [102, 1500]), sample(102 - by, 300), at(102 - by));
    expect(slope(window, 102 - by)).toBe(0);
    expect(slope(withSample(window, sample(103 - by, 310), at(103 - by)), 103 - by)).toBeCloseTo(10, 9);
  });

  it("X-81 ignores samples with a future time after the clock is set back", () => {
    const window = windowOf([100, 300], [101, 900], [102, 1500]);
    expect(slope(window, 98)).toBe(0);
    expect(slope(window, 101)).toBe(600);
    expect(slope(withSample(window, sample(98, Number.NaN), at(98)), 102)).toBe(0);
  });

  it("tolerates a clock skew of up to one minute", () => {
    const ahead = (minute: number) => withSample(windowOf([0, 300]), sample(minute, 320), at(1));
    expect(slope(ahead(2), 1)).toBeCloseTo(10, 9);
    expect(slope(ahead(2.001), 2.001)).toBe(0);
    const back = (minute: number) => withSample(windowOf([0, 300], [2, 320]), sample(minute, 350), at(minute));
    expect(slope(back(1), 1)).toBeCloseTo(fitted([0, 300], [1, 350], [2, 320]), 9);
    expect(slope(back(0.999), 2)).toBe(0);
  });

  it("X-31 restarts the window when the source changes", () => {
    const window = windowOf([0, 300, "agent"], [1, 300, "agent"], [2, 900, "static"]);
    expect(slope(window, 2)).toBe(0);
    expect(slope(withSample(window, sample(3, 910, "static"), at(3)), 3)).toBeCloseTo(10, 9);
  });

  it("keeps only the newest 600 samples", () => {
    let window: PowerWindow = [];
    const add = (tick: number, power: number) => (window = withSample(window, sample(tick / 1000, power), at(1)));
    for (let tick = 0; tick < 600; tick++) add(tick, tick === 0 ? 9000 : 300);
    expect(slope(window, 1)).toBeLessThan(0);
    add(600, 300);
    expect(slope(window, 1)).toBe(0);
  });
});
