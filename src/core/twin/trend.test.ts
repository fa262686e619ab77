import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PowerSource } from "../api/index.ts";
import { instant, watts } from "../units/index.ts";
import { noTrend, type PowerSample, powerTrend, type TrendWindow, withSample } from "./trend.ts";

const MINUTE = 60_000;
const START = Date.UTC(2026, 2, 1, 12);
const sample = (minute: number, power: number, source: PowerSource = "agent"): PowerSample => ({
  at: instant(START + minute * MINUTE),
  power: watts(power),
  source,
});
type Point = readonly [minute: number, power: number, source?: PowerSource];
const at = (minute: number) => instant(START + minute * MINUTE);
/** Each sample comes in as it is taken, or later: the clock never goes back. */
const windowOf = (...points: readonly Point[]): TrendWindow => {
  let now = Number.NEGATIVE_INFINITY;
  return points.reduce<TrendWindow>((window, [minute, power, source]) => {
    now = Math.max(now, minute);
    return withSample(window, sample(minute, power, source), at(now));
  }, noTrend);
};
const slope = (window: TrendWindow, minute?: number) =>
  powerTrend(window, minute === undefined ? (window.at(-1)?.at ?? instant(START)) : at(minute));
const shown = (window: TrendWindow) => window.map(({ at, power }) => [(at - START) / MINUTE, power]);

describe("powerTrend", () => {
  it("TWN-10 X-81 is the slope in watts per minute, positive when rising", () => {
    expect(slope(windowOf([0, 300], [1, 350]))).toBe(50);
    expect(slope(windowOf([0, 300], [1, 290], [2, 280], [3, 270], [4, 260]))).toBe(-10);
    expect(slope(windowOf([0, 300], [2, 300], [4, 300]))).toBe(0);
  });

  it("X-81 fits all samples, not the first and the last", () => {
    // Means 2 min and 130 W; deviations (−2,−1,0,1,2) × (−30,−20,−30,30,50) = 60 + 20 + 0 + 30 + 100 = 210; variance 10.
    expect(slope(windowOf([0, 100], [1, 110], [2, 100], [3, 160], [4, 180]))).toBe(21);
  });

  it("X-81 is 0 with fewer than two samples", () => {
    expect(noTrend).toEqual([]);
    expect(slope(noTrend)).toBe(0);
    expect(slope(windowOf([0, 300]))).toBe(0);
    expect(slope(windowOf([0, 300], [0, 400]))).toBe(0);
  });

  it("X-81 looks back five minutes from now, the fifth included", () => {
    const window = windowOf([0, 300], [1, 400]);
    expect(slope(window, 5)).toBe(100);
    expect(slope(window, 5.01)).toBe(0);
    expect(slope(window, 60)).toBe(0);
  });

  it("X-81 finds the slope of a line, sampled anyhow at any time of day", () => {
    const offsets = fc.uniqueArray(fc.integer({ min: 0, max: 5 * MINUTE }), { minLength: 2, maxLength: 40 });
    fc.assert(
      fc.property(
        offsets,
        fc.integer({ min: -400, max: 400 }),
        fc.integer({ min: 2000, max: 9000 }),
        (times, rise, base) => {
          const window = times.reduce<TrendWindow>(
            (so, offset) => withSample(so, sample(offset / MINUTE, base + (rise * offset) / MINUTE), at(5)),
            noTrend,
          );
          // Rounding of a reading is some 1e-12 W; what that makes of the slope depends on how far apart the samples are.
          const spread = (Math.max(...times) - Math.min(...times)) / MINUTE;
          expect(Math.abs(slope(window) - rise)).toBeLessThan(1e-10 / spread + 1e-9);
        },
      ),
    );
  });

  it("is a number for any readings", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double(), fc.double(), fc.double())), fc.double(), (points, end) => {
        const window = points.reduce<TrendWindow>(
          (so, [time, power, now]) =>
            withSample(so, { at: instant(time), power: watts(power), source: "agent" }, instant(now)),
          noTrend,
        );
        expect(Number.isFinite(powerTrend(window, instant(end)))).toBe(true);
        expect(Number.isFinite(powerTrend(window, window.at(-1)?.at ?? instant(0)))).toBe(true);
      }),
    );
    expect(slope(windowOf([0, 1e308], [1, 0], [2, 1e308]))).toBe(0);
    expect(slope(windowOf([0, 1e308], [1, 1e308]))).toBe(0);
  });
});

describe("withSample", () => {
  it("X-81 keeps what is five minutes old and drops what is older", () => {
    expect(shown(windowOf([0, 1], [1, 2], [5, 3]))).toEqual([
      [0, 1],
      [1, 2],
      [5, 3],
    ]);
    expect(shown(windowOf([0, 1], [1, 2], [5.001, 3]))).toEqual([
      [1, 2],
      [5.001, 3],
    ]);
  });

  it("X-31 starts anew after a gap, with no trend from before it", () => {
    const window = windowOf([0, 100], [1, 200], [30, 900]);
    expect(shown(window)).toEqual([[30, 900]]);
    expect(slope(window)).toBe(0);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1])(
    "X-31 takes a power of %d for a missing sample, never for 0 W",
    (bad) => {
      const window = windowOf([0, 300], [1, 300]);
      expect(withSample(window, sample(2, bad), at(2))).toBe(window);
      expect(shown(withSample(window, sample(2, 0), at(2)))).toHaveLength(3);
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("takes a time of %d for a missing sample", (bad) => {
    const window = windowOf([0, 300]);
    expect(withSample(window, { ...sample(0, 200), at: instant(bad) }, at(0))).toBe(window);
    expect(withSample(noTrend, { ...sample(0, 200), at: instant(bad) }, at(0))).toEqual([]);
  });

  it("X-81 puts late samples where they belong, and lets the last word on an instant count", () => {
    expect(shown(windowOf([0, 1], [2, 3], [1, 2], [3, 4]))).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
    expect(shown(windowOf([1, 2], [0, 1]))).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(shown(windowOf([0, 1], [1, 2], [1, 9], [2, 3]))).toEqual([
      [0, 1],
      [1, 9],
      [2, 3],
    ]);
  });

  it("X-81 does not depend on the order of arrival", () => {
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(minutes, (seconds) => {
        const points = seconds.map((second): Point => [second / 60, second * 7 + (second % 5)]);
        const sorted = points.toSorted(([a], [b]) => a - b);
        expect(windowOf(...points)).toEqual(windowOf(...sorted));
      }),
    );
  });

  it("X-81 passes over a sample more than five minutes old", () => {
    const window = windowOf([4, 300], [8, 310]);
    expect(withSample(window, sample(2.999, 900), at(8))).toBe(window);
    expect(shown(withSample(window, sample(3, 900), at(8)))).toHaveLength(3);
  });

  it.each([2, 4, 60, 90_000])(
    "X-81 starts over when the clock was set back by %d minutes, and goes on from there",
    (by) => {
      const before = windowOf([100, 300], [101, 900], [102, 1500]);
      const back = withSample(before, sample(102 - by, 300), at(102 - by));
      expect(shown(back)).toEqual([[102 - by, 300]]);
      const next = withSample(back, sample(103 - by, 310), at(103 - by));
      expect(slope(next, 103 - by)).toBeCloseTo(10, 9);
    },
  );

  it("X-81 fits no sample of the future, though none has come since the clock was set back", () => {
    const before = windowOf([100, 300], [101, 900], [102, 1500]);
    expect(slope(before, 98)).toBe(0);
    expect(slope(before, 101)).toBe(600);
    expect(shown(withSample(before, sample(98, Number.NaN), at(98)))).toEqual([]);
  });

  it("bears a minute between the clocks of two machines, and no more", () => {
    const window = windowOf([0, 300]);
    expect(shown(withSample(window, sample(2, 320), at(1)))).toHaveLength(2);
    expect(withSample(window, sample(2.001, 320), at(1))).toBe(window);
    const ahead = windowOf([0, 300], [2, 320]);
    expect(shown(withSample(ahead, sample(1, 310), at(1)))).toHaveLength(3);
    expect(shown(withSample(ahead, sample(0.999, 310), at(0.999)))).toEqual([[0.999, 310]]);
  });

  it("X-31 makes no trend of a change of source", () => {
    const window = windowOf([0, 300, "agent"], [1, 300, "agent"], [2, 900, "static"]);
    expect(shown(window)).toEqual([[2, 900]]);
    expect(slope(window)).toBe(0);
  });

  it("keeps no more than 600 samples, the newest", () => {
    let window = noTrend;
    for (let tick = 0; tick < 700; tick++) window = withSample(window, sample(tick / 1000, tick), at(1));
    expect(window).toHaveLength(600);
    expect(window[0]?.power).toBe(100);
    expect(window.at(-1)?.power).toBe(699);
  });

  it("leaves the window it was given as it was", () => {
    const window = windowOf([0, 1], [1, 2]);
    withSample(window, sample(0.5, 3), at(1));
    expect(shown(window)).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });
});
