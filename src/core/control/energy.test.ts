import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instant, joules, joulesFromMicrojoules, monotonicInstant, watts } from "../units/index.ts";
import { type EnergySample, mostPlausible, powerBetween, totalPower } from "./energy.ts";

const sample = (energy: number, atSeconds: number): EnergySample => ({
  energy: joules(energy),
  at: monotonicInstant(atSeconds * 1000),
});
/** A package of 350 W with Intel's usual counter. */
const xeon = { range: joulesFromMicrojoules(262143328850), mostPower: mostPlausible(watts(350)) };
/** 400 W on AMD's shorter one. */
const epyc = { range: joulesFromMicrojoules(65532610987), mostPower: mostPlausible(watts(400)) };

describe("powerBetween", () => {
  it("AGT-22 is the energy spent over the time passed", () => {
    expect(powerBetween(sample(1000, 0), sample(5800, 20), xeon)).toEqual({ power: 240 });
    expect(powerBetween(sample(1000, 0), sample(1000, 20), xeon)).toEqual({ power: 0 });
  });

  it("does not take the calendar's time, which may step", () => {
    // @ts-expect-error -- an Instant is no MonotonicInstant.
    const calendar: EnergySample = { energy: joules(0), at: instant(0) };
    expect(calendar.at).toBe(0);
  });

  it("X-53 carries a counter over its end", () => {
    const { power } = powerBetween(sample(262000, 0), sample(6856.67115, 20), xeon);
    expect(power).toBeCloseTo(350, 6);
  });

  it("X-53 takes a wrap up to the plausible bound, and a reset beyond it for a reset", () => {
    const small = { range: joules(10_000), mostPower: watts(100) };
    expect(powerBetween(sample(9500, 0), sample(500, 10), small)).toEqual({ power: 100 });
    expect(powerBetween(sample(9500, 0), sample(501, 10), small)).toEqual({ dropped: "counter reset" });
    expect(powerBetween(sample(9999, 0), sample(0, 10), small)).toEqual({ power: 0.1 });
    expect(powerBetween(sample(10_000, 0), sample(0, 10), small)).toEqual({ power: 0 });
  });

  it("X-53 drops a counter that went back without a wrap", () => {
    expect(powerBetween(sample(171340, 0), sample(12, 20), xeon)).toEqual({ dropped: "counter reset" });
    expect(powerBetween(sample(500, 0), sample(400, 20), { mostPower: watts(700) })).toEqual({
      dropped: "counter reset",
    });
    expect(powerBetween(sample(500, 0), sample(400, 20), { range: joules(1000) })).toEqual({
      dropped: "counter reset",
    });
    // A value above the counter's own range: no wrap explains it.
    expect(powerBetween(sample(5000, 0), sample(1, 1), { range: joules(1000), mostPower: watts(700) })).toEqual({
      dropped: "counter reset",
    });
  });

  it("X-53 drops implausible watts, and keeps what is just plausible", () => {
    expect(powerBetween(sample(0, 0), sample(14_000, 20), xeon)).toEqual({ power: 700 });
    expect(powerBetween(sample(0, 0), sample(14_000.1, 20), xeon)).toEqual({ dropped: "implausible" });
    expect(powerBetween(sample(0, 0), sample(1e9, 20), {})).toEqual({ power: 5e7 });
    expect(powerBetween(sample(0, 0), sample(200, 20), { range: joules(1000) })).toEqual({ power: 10 });
    expect(powerBetween(sample(0, 0), sample(200, 20), { mostPower: watts(1000) })).toEqual({ power: 10 });
  });

  it("drops a gap in which the counter could have gone all the way round", () => {
    const small = { range: joules(10_000), mostPower: watts(100) };
    expect(powerBetween(sample(0, 0), sample(99, 99), small)).toEqual({ power: 1 });
    expect(powerBetween(sample(0, 0), sample(100, 100), small)).toEqual({ dropped: "gap too long" });
    // AMD's counter still bears a reconcile interval of a minute.
    expect(powerBetween(sample(0, 0), sample(24_000, 60), epyc)).toEqual({ power: 400 });
    expect(powerBetween(sample(0, 0), sample(24_000, 90), epyc)).toEqual({ dropped: "gap too long" });
  });

  it.each([
    [sample(0, 5), sample(10, 5)],
    [sample(0, 5), sample(10, 4)],
    [sample(0, 5), sample(10, Number.NaN)],
  ])("has no reading where no time passed", (previous, current) => {
    expect(powerBetween(previous, current, xeon)).toEqual({ dropped: "no time passed" });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1])("has no reading from a counter at %d", (energy) => {
    expect(powerBetween(sample(energy, 0), sample(10, 5), xeon)).toEqual({ dropped: "unreadable" });
    expect(powerBetween(sample(0, 0), sample(energy, 5), xeon)).toEqual({ dropped: "unreadable" });
  });

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])("takes a bound of %d for unknown", (bound) => {
    const counter = { range: joules(bound), mostPower: watts(bound) };
    expect(powerBetween(sample(0, 0), sample(1e6, 1), counter)).toEqual({ power: 1e6 });
    expect(powerBetween(sample(10, 0), sample(0, 1), counter)).toEqual({ dropped: "counter reset" });
  });

  it("X-53 never reports a negative or implausible figure", () => {
    const energy = fc.double({ min: 0, max: 262143, noNaN: true });
    fc.assert(
      fc.property(energy, energy, fc.double({ min: -10, max: 1000, noNaN: true }), (from, to, elapsed) => {
        const { power } = powerBetween(sample(from, 0), sample(to, elapsed), xeon);
        expect(power === undefined || (power >= 0 && power <= 700)).toBe(true);
      }),
    );
  });
});

describe("mostPlausible", () => {
  it("X-53 is twice the package's maximum", () => {
    expect(mostPlausible(watts(350))).toBe(700);
  });
});

describe("totalPower", () => {
  it("sums the packages", () => {
    expect(totalPower([watts(100), watts(50), watts(0)])).toBe(150);
  });

  it("X-31 has no total where a part is missing, nor without parts", () => {
    expect(totalPower([watts(100), undefined])).toBeUndefined();
    expect(totalPower([undefined, watts(100)])).toBeUndefined();
    expect(totalPower([])).toBeUndefined();
  });
});
