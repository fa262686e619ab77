import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds, type RandomSource } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ExperimentRun } from "../experiment.ts";
import { compareArms } from "./compare.ts";
import { estimateOf } from "./interval.ts";
import { Progress } from "./progress.ts";
import { formatNumber, formatSigned, renderComparison } from "./render.ts";

describe("estimateOf", () => {
  it("gives an interval around the mean that grows with the spread and is reproducible for a seed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 8 }),
        fc.integer(),
        (values, seed) => {
          const { mean, low = Number.NaN, high = Number.NaN } = estimateOf(values, seededRandom(seed));
          expect(mean).toBeGreaterThanOrEqual(low);
          expect(mean).toBeLessThanOrEqual(high);
          expect(estimateOf(values, seededRandom(seed))).toEqual({ mean, low, high });
        },
      ),
      { numRuns: 20 },
    );
  });

  const bell = (random: RandomSource): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const even = (random: RandomSource): number => random.next() - 0.5;

  it.each([
    [2, bell],
    [4, bell],
    [5, bell],
    [8, even],
  ])("covers the true mean at the stated rate, with %d values", (count, draw) => {
    const random = seededRandom(11);
    const rounds = 200;
    let covered = 0;
    for (let round = 0; round < rounds; round++) {
      const values = Array.from({ length: count }, () => draw(random));
      const { low = 1, high = -1 } = estimateOf(values, random);
      if (low <= 0 && high >= 0) covered++;
    }
    // 190 of 200, ± 6 at two standard errors; the plain percentile bootstrap covers 50 to 88 %, with two values 93 %.
    expect(covered / rounds).toBeGreaterThan(0.9);
    expect(covered / rounds).toBeLessThan(0.99);
  });

  it("is close to the textbook interval for few values, and robust against two nearly equal ones", () => {
    const { mean, low = 0, high = 0 } = estimateOf([1, 2, 3, 4, 5], seededRandom(1));
    // 2.776 standard errors of √(2.5 / 5).
    expect(mean).toBe(3);
    expect(low).toBeGreaterThan(3 - 1.963 * 1.05);
    expect(low).toBeLessThan(3 - 1.963 * 0.95);
    expect(high).toBeCloseTo(6 - low, 1);
    const tied = estimateOf([0, 1e-14, 0, 2e-14, 0.1], seededRandom(1));
    expect(tied.low).toBeGreaterThan(-0.1);
    expect(tied.high).toBeLessThan(0.2);
  });

  it("gives no interval for one value, and a zero-width one for equal values", () => {
    expect(estimateOf([3], seededRandom(1))).toEqual({ mean: 3 });
    expect(estimateOf([0.1, 0.1, 0.1, 0.1, 0.1], seededRandom(1))).toEqual({ mean: 0.1, low: 0.1, high: 0.1 });
  });
});

describe("compare", () => {
  const figures = [
    { key: "itKWh", title: "IT kWh", digits: 1, compared: "same work" },
    { key: "perJob", title: "kWh/job", digits: 1, compared: "always" },
    { key: "peakKW", title: "peak kW", digits: 1 },
  ] as const;
  const run = (arm: "least" | "most", seed: number, kWh: number, done: number[]): ExperimentRun => ({
    contender: { arm, policy: "none" },
    seed,
    figures: { itKWh: kWh, perJob: kWh / 2, peakKW: 0 },
    done: Uint8Array.from(done),
  });
  const base = [run("least", 1, 100, [1, 1]), run("least", 2, 400, [1, 1])];

  it("computes differences pair by pair, not between means", () => {
    const both = compareArms([...base, run("most", 1, 90, [1, 1]), run("most", 2, 200, [1, 1])], figures);
    expect(both).toMatchObject({ baseline: "least", seeds: [1, 2], sameWork: true });
    // −10 % and −50 %; the means would give −42 %.
    expect(both.arms[1]?.difference["itKWh"]?.mean).toBeCloseTo(-30, 9);
    expect(both.arms[0]?.difference).toEqual({});
    expect(Object.keys(both.arms[1]?.difference ?? {})).toEqual(["itKWh", "perJob"]);
    // Two values give a very wide interval: 9.2 times their distance from the mean.
    expect(renderComparison(both, figures)).toMatch(/^most +-30\.00 \[-213\.36, \+153\.36\]/m);
    expect(both.note).toContain("95 %, bootstrap over the seeds");
  });

  it("compares in the figure's own unit where the base may be zero, and only at equal work", () => {
    const waits = [...figures, { key: "waitSec", title: "wait", digits: 0, compared: "absolute" }] as const;
    const waiting = (arm: "least" | "most", seed: number, waitSec: number, done: number[]): ExperimentRun => {
      const plain = run(arm, seed, 100, done);
      return { ...plain, figures: { ...plain.figures, waitSec } };
    };
    const least = [waiting("least", 1, 0, [1]), waiting("least", 2, 40, [1])];
    const both = compareArms([...least, waiting("most", 1, 10, [1]), waiting("most", 2, 20, [1])], waits);
    expect(both.arms[1]?.change["waitSec"]?.mean).toBe(-5);
    expect(both.arms[1]?.difference["waitSec"]).toBeUndefined();
    expect(renderComparison(both, waits)).toMatch(/^against least, in its unit +wait\nmost +-5\.00 \[/m);
    const less = compareArms([...least, waiting("most", 1, 10, [1]), waiting("most", 2, 20, [0])], waits);
    expect(less.arms[1]?.change).toEqual({});
    expect(renderComparison(less, waits)).not.toContain("in its unit");
  });

  it("omits energy differences and says so if one arm left a job undone on one seed", () => {
    const both = compareArms([...base, run("most", 1, 90, [1, 1]), run("most", 2, 200, [1, 0])], figures);
    expect(both.sameWork).toBe(false);
    expect(both.note).toContain("DIFFERENT WORK");
    expect(both.note).toContain("doing less is no saving");
    expect(Object.keys(both.arms[1]?.difference ?? {})).toEqual(["perJob"]);
    const text = renderComparison(both, figures);
    expect(text).toContain("DIFFERENT WORK");
    expect(text).toMatch(/^against least, % +kWh\/job$/m);
  });

  it("omits a difference to zero, and needs at least two runs", () => {
    const idle = compareArms([run("least", 1, 0, []), run("most", 1, 5, [])], figures);
    expect(idle.arms[1]?.difference).toEqual({});
    expect(renderComparison(idle, figures)).toContain("one seed has no interval");
    expect(() => compareArms([], figures)).toThrow("nothing to compare");
  });
});

describe("Progress", () => {
  it("X-182 is a line every ten seconds", () => {
    const lines: string[] = [];
    const clock = new VirtualClock();
    const progress = new Progress(clock, (text) => lines.push(text));
    progress.at(0.1, "a");
    clock.advance(milliseconds(10_000));
    progress.at(0.25, "b");
    progress.at(0.26, "b");
    clock.advance(milliseconds(7_170_000));
    progress.at(0.5, "b");
    expect(lines).toEqual(["25 %  0:30 left  b\n", "50 %  1:59:40 left  b\n"]);
  });
});

describe("numbers of a report", () => {
  it("have thousands separators and signs", () => {
    expect(formatNumber(12_345.678, 1)).toBe("12,345.7");
    expect([1.234, -1, 0, -0.001, 0.004].map((value) => formatSigned(value, 2))).toEqual([
      "+1.23",
      "-1.00",
      "0.00",
      "0.00",
      "0.00",
    ]);
  });
});
