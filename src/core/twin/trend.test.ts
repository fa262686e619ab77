import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PowerSource } from "../api/index.ts";
import { type Instant, instant, watts } from "../units/index.ts";
import { type PowerSample, PowerTrend } from "./trend.ts";

const MINUTE = 60_000;
const START = Date.UTC(2026, 2, 1, 12);
const sample = (minute: number, power: number, source: PowerSource = "agent"): PowerSample => ({
  at: instant(START + minute * MINUTE),
  power: watts(power),
  source,
});
type Point = readonly [minute: number, power: number, source?: PowerSource];
const at = (minute: number) => instant(START + minute * MINUTE);
const plus = (window: PowerTrend, added: PowerSample, now: Instant): PowerTrend => {
  window.add(added, now);
  return window;
};
/** Each sample comes in as it is taken, or later: the clock never goes back. */
const windowOf = (...points: readonly Point[]): PowerTrend => {
  let now = Number.NEGATIVE_INFINITY;
  return points.reduce((window, [minute, power, source]) => {
    now = Math.max(now, minute);
    return plus(window, sample(minute, power, source), at(now));
  }, new PowerTrend());
};
const slope = (window: PowerTrend, minute?: number) =>
  window.slope(minute === undefined ? (window.samples.at(-1)?.at ?? instant(START)) : at(minute));
const shown = (window: PowerTrend) => window.samples.map(({ at, power }) => [(at - START) / MINUTE, power]);

describe("the slope of a window", () => {
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
    expect(slope(new PowerTrend())).toBe(0);
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
          const window = new PowerTrend();
          for (const offset of times) window.add(sample(offset / MINUTE, base + (rise * offset) / MINUTE), at(5));
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
        const window = new PowerTrend();
        for (const [time, power, now] of points)
          window.add({ at: instant(time), power: watts(power), source: "agent" }, instant(now));
        expect(Number.isFinite(window.slope(instant(end)))).toBe(true);
        expect(Number.isFinite(slope(window))).toBe(true);
      }),
    );
    expect(slope(windowOf([0, 1e308], [1, 0], [2, 1e308]))).toBe(0);
    expect(slope(windowOf([0, 1e308], [1, 1e308]))).toBe(0);
  });
});

describe("a window with one more sample", () => {
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
      expect(shown(plus(window, sample(2, bad), at(2)))).toHaveLength(2);
      expect(shown(plus(window, sample(2, 0), at(2)))).toHaveLength(3);
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("takes a time of %d for a missing sample", (bad) => {
    const added = { ...sample(0, 200), at: instant(bad) };
    expect(shown(plus(windowOf([0, 300]), added, at(0)))).toEqual([[0, 300]]);
    expect(shown(plus(new PowerTrend(), added, at(0)))).toEqual([]);
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
        expect(shown(windowOf(...points))).toEqual(shown(windowOf(...sorted)));
      }),
    );
  });

  it("X-81 passes over a sample more than five minutes old", () => {
    const window = windowOf([4, 300], [8, 310]);
    expect(shown(plus(window, sample(2.999, 900), at(8)))).toHaveLength(2);
    expect(shown(plus(window, sample(3, 900), at(8)))).toHaveLength(3);
  });

  it.each([2, 4, 60, 90_000])(
    "X-81 starts over when the clock was set back by %d minutes, and goes on from there",
    (by) => {
      const before = windowOf([100, 300], [101, 900], [102, 1500]);
      const back = plus(before, sample(102 - by, 300), at(102 - by));
      expect(shown(back)).toEqual([[102 - by, 300]]);
      const next = plus(back, sample(103 - by, 310), at(103 - by));
      expect(slope(next, 103 - by)).toBeCloseTo(10, 9);
    },
  );

  it("X-81 fits no sample of the future, though none has come since the clock was set back", () => {
    const before = windowOf([100, 300], [101, 900], [102, 1500]);
    expect(slope(before, 98)).toBe(0);
    expect(slope(before, 101)).toBe(600);
    expect(shown(plus(before, sample(98, Number.NaN), at(98)))).toEqual([]);
  });

  it("bears a minute between the clocks of two machines, and no more", () => {
    expect(shown(plus(windowOf([0, 300]), sample(2, 320), at(1)))).toHaveLength(2);
    expect(shown(plus(windowOf([0, 300]), sample(2.001, 320), at(1)))).toHaveLength(1);
    const ahead = () => windowOf([0, 300], [2, 320]);
    expect(shown(plus(ahead(), sample(1, 310), at(1)))).toHaveLength(3);
    expect(shown(plus(ahead(), sample(0.999, 310), at(0.999)))).toEqual([[0.999, 310]]);
  });

  it("X-31 makes no trend of a change of source", () => {
    const window = windowOf([0, 300, "agent"], [1, 300, "agent"], [2, 900, "static"]);
    expect(shown(window)).toEqual([[2, 900]]);
    expect(slope(window)).toBe(0);
  });

  it("keeps no more than 600 samples, the newest", () => {
    const window = new PowerTrend();
    for (let tick = 0; tick < 700; tick++) window.add(sample(tick / 1000, tick), at(1));
    expect(window.samples).toHaveLength(600);
    expect(window.samples[0]?.power).toBe(100);
    expect(window.samples.at(-1)?.power).toBe(699);
  });
});
