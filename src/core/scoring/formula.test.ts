import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkloadClass } from "../demand/index.ts";
import { type Percent, percent, watts, wattsPerMinute } from "../units/index.ts";
import {
  clampScore,
  coolingTerm,
  drainingPenalty,
  headroomScore,
  headroomTerm,
  isBurst,
  perfPressure,
  pressureRelief,
  profileBonus,
  publishedScore,
  trendBonus,
} from "./formula.ts";
import type { KnownClass } from "./twin-state.ts";

const headroom = (budget: number, drawn: number, added: number) =>
  headroomScore(watts(budget), watts(drawn), watts(added));
const bonus = (trend: number, clusterTrend: number) =>
  trendBonus(wattsPerMinute(trend), isBurst(wattsPerMinute(clusterTrend)));

const everyPair: [WorkloadClass, KnownClass][] = (["standard", "performance"] as const).flatMap((pod) =>
  (["performance", "eco", "draining"] as const).map((node): [WorkloadClass, KnownClass] => [pod, node]),
);

describe("headroom", () => {
  it("SCH-23 adds the pod's power to the measured power", () => {
    expect(headroom(1000, 300, 200)).toBe(50);
    expect(headroom(1000, 500, 0)).toBe(50);
  });

  it("SCH-24 is the remaining share of the capped power and may be negative", () => {
    expect(headroom(600, 300, 50)).toBeCloseTo(41.6667, 4);
    expect(headroom(100, 100, 0)).toBe(0);
    expect(headroom(100, 150, 50)).toBe(-100);
    expect(headroom(100, 0, 0)).toBe(100);
  });

  it("has a weight of 0.7", () => {
    expect(headroomTerm(percent(100))).toBe(70);
    expect(headroomTerm(percent(-10))).toBe(-7);
  });

  it("SCH-45 is lower under a lower cap at the same draw and pod", () => {
    const power = fc.double({ min: 1, max: 1e5, noNaN: true });
    fc.assert(
      fc.property(
        power,
        power,
        power,
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        (cap, drawn, added, factor) => {
          expect(headroom(cap * factor, drawn, added)).toBeLessThan(headroom(cap, drawn, added));
        },
      ),
    );
  });
});

describe("cooling", () => {
  it("SCH-30 gives 15 points to a cool node and none to one at its cooling limit", () => {
    expect(coolingTerm(percent(0))).toBe(15);
    expect(coolingTerm(percent(100))).toBe(0);
    expect(coolingTerm(percent(20))).toBe(12);
  });

  it("gives half the points if the stress is unknown", () => {
    expect(coolingTerm(undefined)).toBe(7.5);
  });
});

describe("trend", () => {
  it.each([
    [500, false],
    [-500, false],
    [500.001, true],
    [-500.001, true],
    [0, false],
    [Infinity, true],
  ])("SCH-27 treats a cluster trend of %d W/min as a burst: %s", (clusterTrend, burst) => {
    expect(isBurst(wattsPerMinute(clusterTrend))).toBe(burst);
    expect(bonus(12, clusterTrend)).toBe(burst ? -6 : -2);
  });

  it.each([
    [60, 0, -10],
    [-30, 0, 5],
    [200, 0, -25],
    [-200, 0, 25],
    [60, 501, -25],
    [-60, -501, 25],
    [20, 501, -10],
    [150, 0, -25],
    [149.4, 0, -24.9],
    [-1e308, 0, 25],
  ])("SCH-28 turns %d W/min at a cluster trend of %d into %d points", (trend, clusterTrend, points) => {
    expect(bonus(trend, clusterTrend)).toBeCloseTo(points, 10);
  });

  it("SCH-28 is a plain 0 for a flat trend", () => {
    expect(bonus(0, 0)).toBe(0);
  });
});

describe("class", () => {
  it.each(everyPair)("SCH-31 gives 10 points to a standard pod on eco only: %s on %s", (pod, node) => {
    expect(profileBonus(pod, node)).toBe(pod === "standard" && node === "eco" ? 10 : 0);
  });

  it.each(everyPair)(
    "SCH-32 subtracts 0.3 of the pressure for standard pods on performance nodes only: %s on %s",
    (pod, node) => {
      const felt = pod === "standard" && node === "performance";
      expect(pressureRelief(pod, node, percent(100))).toBe(felt ? -30 : 0);
      expect(pressureRelief(pod, node, percent(50))).toBe(felt ? -15 : 0);
      expect(pressureRelief(pod, node, percent(0))).toBe(0);
    },
  );

  it.each(everyPair)(
    "SCH-57 subtracts the draining penalty for standard pods on draining nodes only: %s on %s",
    (pod, node) => {
      expect(drainingPenalty(pod, node, 20)).toBe(pod === "standard" && node === "draining" ? -20 : 0);
      expect(drainingPenalty(pod, node, 0)).toBe(0);
    },
  );
});

describe("pressure", () => {
  it.each<[number, number, number]>([
    [0, 0, 0],
    [150, 2, 75],
    [250, 2, 100],
    [200, 2, 100],
    [-50, 1, 0],
    [Infinity, 3, 100],
  ])("X-33 averages congestion %d over %d nodes within [0, 100]: %d", (congestion, nodes, pressure) => {
    expect(perfPressure(congestion, nodes)).toBe(pressure);
  });

  it("X-73 is 0 without performance nodes", () => {
    expect(perfPressure(0, 0)).toBe(0);
  });
});

describe("the final score", () => {
  it.each([
    [-0.001, 0],
    [0, 0],
    [100, 100],
    [100.001, 100],
    [-Infinity, 0],
    [Infinity, 100],
    [41.1667, 41.1667],
  ])("SCH-36 clamps %d to %d", (raw, clamped) => {
    expect(clampScore(raw)).toBe(clamped);
  });

  it.each([
    [41.1667, 41],
    [41.5, 42],
    [41.49999, 41],
    [0.5, 1],
    [99.5, 100],
    [2.6667, 3],
  ])("X-76 rounds %d to the nearest whole number, halves up: %d", (clamped, score) => {
    expect(publishedScore(clamped, 100)).toBe(score);
  });

  it.each([
    [50, 5],
    [100, 10],
    [0, 0],
    [44.9, 4],
    [45, 5],
    [95, 10],
  ])("X-21 rescales %d to %d of 10", (clamped, score) => {
    expect(publishedScore(clamped, 10)).toBe(score);
  });

  it("X-21 is a whole number from 0 to SCORE_MAX for any sum", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), fc.constantFrom(10, 100), (raw, scoreMax) => {
        const score = publishedScore(clampScore(raw), scoreMax);
        expect(Number.isInteger(score)).toBe(true);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(scoreMax);
      }),
    );
  });

  it("rounds the default range without rescaling it first", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 100, noNaN: true }), (clamped) => {
        expect(publishedScore(clamped, 100)).toBe(Math.round(clamped as Percent));
      }),
    );
  });
});
