import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { Run } from "../run.ts";
import { estimateOf } from "./bootstrap.ts";
import { compare } from "./compare.ts";
import { Progress } from "./progress.ts";
import { renderComparison } from "./render.ts";
import { shown, signed, table } from "./table.ts";

describe("estimateOf", () => {
  it("has an interval around the mean that its values span, and the same one for the same seed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 8 }),
        fc.integer(),
        (values, seed) => {
          const { mean, low = Number.NaN, high = Number.NaN } = estimateOf(values, seededRandom(seed));
          const rounding = 1e-6;
          expect(low).toBeGreaterThanOrEqual(Math.min(...values) - rounding);
          expect(high).toBeLessThanOrEqual(Math.max(...values) + rounding);
          expect(mean).toBeGreaterThanOrEqual(low - rounding);
          expect(mean).toBeLessThanOrEqual(high + rounding);
          expect(estimateOf(values, seededRandom(seed))).toEqual({ mean, low, high });
        },
      ),
      { numRuns: 20 },
    );
  });

  it("covers the true mean about as often as it says", () => {
    const random = seededRandom(11);
    let covered = 0;
    const rounds = 200;
    for (let round = 0; round < rounds; round++) {
      const values = Array.from({ length: 30 }, () => random.next());
      const { low = 1, high = 0 } = estimateOf(values, random);
      if (low <= 0.5 && high >= 0.5) covered++;
    }
    expect(covered / rounds).toBeGreaterThan(0.88);
    expect(covered / rounds).toBeLessThan(0.99);
  });

  it("claims no interval from one value", () => {
    expect(estimateOf([3], seededRandom(1))).toEqual({ mean: 3 });
  });
});

describe("compare", () => {
  const figures = [
    { key: "itKWh", title: "IT kWh", digits: 1, compared: "same work" },
    { key: "perJob", title: "kWh/job", digits: 1, compared: "always" },
    { key: "peakKW", title: "peak kW", digits: 1 },
  ] as const;
  const run = (arm: "least" | "most", seed: number, kWh: number, done: number[]): Run => ({
    contender: { arm, policy: "none" },
    seed,
    figures: { itKWh: kWh, perJob: kWh / 2, peakKW: 0 },
    done: Uint8Array.from(done),
  });
  const base = [run("least", 1, 100, [1, 1]), run("least", 2, 400, [1, 1])];

  it("takes differences pair by pair, not between means", () => {
    const both = compare([...base, run("most", 1, 90, [1, 1]), run("most", 2, 200, [1, 1])], figures);
    expect(both).toMatchObject({ baseline: "least", seeds: [1, 2], sameWork: true });
    // −10 % and −50 %; the means would say −42 %.
    expect(both.arms[1]?.difference["itKWh"]?.mean).toBeCloseTo(-30, 9);
    expect(both.arms[0]?.difference).toEqual({});
    expect(Object.keys(both.arms[1]?.difference ?? {})).toEqual(["itKWh", "perJob"]);
    expect(renderComparison(both, figures)).toMatch(/^most +-30\.00 \[-50\.00, -10\.00\]/m);
  });

  it("compares no energy where one job was left undone by one arm on one seed, and says so", () => {
    const both = compare([...base, run("most", 1, 90, [1, 1]), run("most", 2, 200, [1, 0])], figures);
    expect(both.sameWork).toBe(false);
    expect(both.note).toContain("DIFFERENT WORK");
    expect(Object.keys(both.arms[1]?.difference ?? {})).toEqual(["perJob"]);
    const text = renderComparison(both, figures);
    expect(text).toContain("DIFFERENT WORK");
    expect(text).toMatch(/^against least, % +kWh\/job$/m);
  });

  it("leaves out a difference to nothing, and needs something to compare", () => {
    const idle = compare([run("least", 1, 0, []), run("most", 1, 5, [])], figures);
    expect(idle.arms[1]?.difference).toEqual({});
    expect(renderComparison(idle, figures)).toContain("one seed has no interval");
    expect(() => compare([], figures)).toThrow("nothing to compare");
  });
});

describe("Progress", () => {
  it("draws at most ten times a second, with the time left by what is done", () => {
    const clock = new VirtualClock();
    const drawn: string[] = [];
    const progress = new Progress(clock, (text) => drawn.push(text));
    progress.at(0, "a");
    progress.at(0.1, "a");
    clock.advance(milliseconds(30_000));
    progress.at(0.25, "b");
    progress.at(0.26, "b");
    clock.advance(milliseconds(7_170_000));
    progress.at(0.5, "b");
    progress.end();
    expect(drawn).toHaveLength(4);
    expect(drawn[0]).toContain("  0 %  a");
    expect(drawn[1]).toMatch(/█{6}░{18} {2}25 % {2}1:30 left {2}b$/);
    expect(drawn[2]).toContain("2:00:00 left");
    expect(drawn[3]).toBe("\r\x1b[K");
  });

  it("is silent where nobody looks", () => {
    const progress = new Progress(new VirtualClock(), undefined);
    progress.at(0.5, "a");
    expect(() => progress.end()).not.toThrow();
  });
});

describe("tables", () => {
  it("line up, with thousands apart and signs", () => {
    const rows = [
      ["arm", "kWh"],
      ["least", shown(12_345.678, 1)],
    ];
    expect(table(rows)).toBe("arm         kWh\nleast  12,345.7\n");
    expect([1.234, -1, 0, -0.001, 0.004].map((value) => signed(value, 2))).toEqual([
      "+1.23",
      "-1.00",
      "0.00",
      "0.00",
      "0.00",
    ]);
  });
});
