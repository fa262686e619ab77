import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  instant,
  type Joules,
  joules,
  joulesFromMicrojoules,
  monotonicInstant,
  type Watts,
  watts,
} from "../units/index.ts";
import { type EnergyCounterSample, maxSafeGap, powerBetween, totalPower } from "./energy.ts";

const sample = (energy: number, atSeconds: number): EnergyCounterSample => ({
  energy: joules(energy),
  at: monotonicInstant(atSeconds * 1000),
});
/** A package of 350 W with Intel's usual counter. */
const xeon = { range: joulesFromMicrojoules(262143328850), ratedPower: watts(350) };
/** 400 W on AMD's shorter one. */
const epyc = { range: joulesFromMicrojoules(65532610987), ratedPower: watts(400) };

describe("powerBetween", () => {
  it("divides the energy used by the elapsed time", () => {
    expect(powerBetween(sample(1000, 0), sample(5800, 20), xeon)).toEqual({ power: 240 });
    expect(powerBetween(sample(1000, 0), sample(1000, 20), xeon)).toEqual({ power: 0 });
  });

  it("rejects wall-clock time at compile time", () => {
    // @ts-expect-error -- an Instant is no MonotonicInstant.
    const calendar: EnergyCounterSample = { energy: joules(0), at: instant(0) };
    expect(calendar.at).toBe(0);
  });

  it("X-53 handles a counter wrap", () => {
    const { power } = powerBetween(sample(262000, 0), sample(6856.67115, 20), xeon);
    expect(power).toBeCloseTo(350, 6);
  });

  it("X-53 treats a decrease as a wrap up to twice the rated power, and as a reset beyond that", () => {
    const small = { range: joules(10_000), ratedPower: watts(50) };
    expect(powerBetween(sample(9500, 0), sample(500, 10), small)).toEqual({ power: 100 });
    expect(powerBetween(sample(9500, 0), sample(501, 10), small)).toEqual({ dropped: "counter reset" });
    expect(powerBetween(sample(9999, 0), sample(0, 10), small)).toEqual({ power: 0.1 });
    expect(powerBetween(sample(10_000, 0), sample(0, 10), small)).toEqual({ power: 0 });
  });

  it("X-53 discards a reading if the counter decreased without a wrap", () => {
    expect(powerBetween(sample(171340, 0), sample(12, 20), xeon)).toEqual({ dropped: "counter reset" });
    expect(powerBetween(sample(500, 0), sample(400, 20), { ratedPower: watts(350) })).toEqual({
      dropped: "counter reset",
    });
    expect(powerBetween(sample(500, 0), sample(400, 20), { range: joules(1000) })).toEqual({
      dropped: "counter reset",
    });
    // The value exceeds the range of the counter, so this is not a wrap.
    expect(powerBetween(sample(5000, 0), sample(1, 1), { range: joules(1000), ratedPower: watts(350) })).toEqual({
      dropped: "counter reset",
    });
  });

  it("X-53 discards implausible power and keeps power at the plausibility limit", () => {
    expect(powerBetween(sample(0, 0), sample(14_000, 20), xeon)).toEqual({ power: 700 });
    expect(powerBetween(sample(0, 0), sample(14_000.1, 20), xeon)).toEqual({ dropped: "implausible" });
    expect(powerBetween(sample(0, 0), sample(200, 20), { range: joules(1000) })).toEqual({ power: 10 });
    expect(powerBetween(sample(0, 0), sample(200, 20), { ratedPower: watts(1000) })).toEqual({ power: 10 });
  });

  it("X-53 checks plausibility against the largest of rating and limits, but accepts a wrap only at sustained power", () => {
    const unlimited = {
      range: joules(262_143),
      ratedPower: watts(95),
      longTermLimit: watts(4090),
      highestLimit: watts(4090),
    };
    expect(powerBetween(sample(0, 0), sample(4200, 20), unlimited)).toEqual({ power: 210 });
    expect(powerBetween(sample(0, 0), sample(20 * 8180, 20), unlimited)).toEqual({ power: 8180 });
    expect(powerBetween(sample(0, 0), sample(20 * 8181, 20), unlimited)).toEqual({ dropped: "implausible" });
    expect(powerBetween(sample(260_000, 0), sample(2057, 20), unlimited)).toEqual({ power: 210 });
    for (const was of [262_143, 200_000, 131_000, 20_000])
      expect(
        powerBetween(sample(was, 0), sample(1, 20), { ...unlimited, range: joules(262_143 + 12_000) }),
        `${was} J`,
      ).toEqual({
        dropped: "counter reset",
      });
    // Three times the rating lasts at most: a limit that means "none" makes no gap too long.
    expect(maxSafeGap(unlimited)).toBeCloseTo(262_143 / (1.05 * 285), 6);
    expect(maxSafeGap({ ...unlimited, longTermLimit: watts(60) })).toBeCloseTo(262_143 / (1.05 * 95), 6);
  });

  it("X-53 discards impossible power, such as infinite watts, for a package of unknown rating", () => {
    expect(powerBetween(sample(0, 0), sample(1e6, 1), {})).toEqual({ power: 1e6 });
    for (const energy of [1_000_001, 1e303, 1e308]) {
      expect(powerBetween(sample(0, 0), sample(energy, 1), {})).toEqual({ dropped: "implausible" });
      expect(powerBetween(sample(0, 0), sample(energy, 1e-9), {})).toEqual({ dropped: "implausible" });
    }
  });

  it("discards an interval in which the counter could have wrapped fully at rated power", () => {
    const small = { range: joules(10_500), ratedPower: watts(100) };
    expect(powerBetween(sample(0, 0), sample(99, 99), small)).toEqual({ power: 1 });
    expect(powerBetween(sample(0, 0), sample(100, 100), small)).toEqual({ dropped: "gap too long" });
    // The AMD counter covers two minutes at full load, but not three.
    expect(powerBetween(sample(0, 0), sample(24_000, 60), epyc)).toEqual({ power: 400 });
    expect(powerBetween(sample(0, 0), sample(48_000, 120), epyc)).toEqual({ power: 400 });
    expect(powerBetween(sample(40_000, 0), sample(22_467.389013, 120), epyc).power).toBeCloseTo(400, 6);
    expect(powerBetween(sample(0, 0), sample(24_000, 180), epyc)).toEqual({ dropped: "gap too long" });
  });

  it("X-53 accepts only sustained power if the counter could wrap unnoticed at twice the rating", () => {
    const small = { range: joules(10_000), ratedPower: watts(100) };
    expect(powerBetween(sample(0, 0), sample(9800, 49), small)).toEqual({ power: 200 });
    expect(powerBetween(sample(0, 0), sample(5250, 50), small)).toEqual({ power: 105 });
    expect(powerBetween(sample(0, 0), sample(5251, 50), small)).toEqual({ dropped: "implausible" });
    expect(powerBetween(sample(9000, 0), sample(4250, 50), small)).toEqual({ power: 105 });
    expect(powerBetween(sample(9000, 0), sample(4251, 50), small)).toEqual({ dropped: "counter reset" });
  });

  it.each([
    [sample(0, 5), sample(10, 5)],
    [sample(0, 5), sample(10, 4)],
    [sample(0, 5), sample(10, Number.NaN)],
  ])("returns no reading if no time passed", (previous, current) => {
    expect(powerBetween(previous, current, xeon)).toEqual({ dropped: "no time passed" });
  });

  it.each([Number.NaN, Infinity, -1])("returns no reading for a counter value of %d", (energy) => {
    expect(powerBetween(sample(energy, 0), sample(10, 5), xeon)).toEqual({ dropped: "unreadable" });
    expect(powerBetween(sample(0, 0), sample(energy, 5), xeon)).toEqual({ dropped: "unreadable" });
  });

  it.each([0, -5, Number.NaN, Infinity])("treats a bound of %d as unknown", (bound) => {
    const counter = { range: joules(bound), ratedPower: watts(bound) };
    expect(powerBetween(sample(0, 0), sample(1e6, 1), counter)).toEqual({ power: 1e6 });
    expect(powerBetween(sample(10, 0), sample(0, 1), counter)).toEqual({ dropped: "counter reset" });
  });

  it("X-53 never reports negative or implausible power", () => {
    const energy = fc.double({ min: 0, max: 262143, noNaN: true });
    fc.assert(
      fc.property(energy, energy, fc.double({ min: -10, max: 1000, noNaN: true }), (from, to, elapsed) => {
        const { power } = powerBetween(sample(from, 0), sample(to, elapsed), xeon);
        expect(power === undefined || (power >= 0 && power <= 700)).toBe(true);
      }),
    );
  });
});

describe("maxSafeGap", () => {
  it("is the time to wrap at slightly more than rated power", () => {
    expect(maxSafeGap({ range: joules(10_500), ratedPower: watts(100) })).toBe(100);
    expect(maxSafeGap(epyc)).toBeCloseTo(156, 0);
    expect(maxSafeGap(xeon)).toBeCloseTo(713, 0);
  });

  it.each([undefined, 0, -1, Number.NaN, Infinity])("is unknown with a bound of %s", (bound) => {
    expect(maxSafeGap({ range: bound as Joules | undefined, ratedPower: watts(400) })).toBeUndefined();
    expect(maxSafeGap({ range: joules(65_000), ratedPower: bound as Watts | undefined })).toBeUndefined();
  });
});

describe("totalPower", () => {
  it("sums the packages", () => {
    expect(totalPower([watts(100), watts(50), watts(0)])).toBe(150);
  });

  it("X-31 returns no total if a part is missing or there are no parts", () => {
    expect(totalPower([watts(100), undefined])).toBeUndefined();
    expect(totalPower([undefined, watts(100)])).toBeUndefined();
    expect(totalPower([])).toBeUndefined();
  });

  it.each([Number.NaN, Infinity, -1])("X-31 returns no total if a part is %d W", (part) => {
    expect(totalPower([watts(100), watts(part)])).toBeUndefined();
    expect(totalPower([watts(part)])).toBeUndefined();
  });

  it("returns no total if the sum is infinite", () => {
    expect(totalPower([watts(1e308), watts(1e308)])).toBeUndefined();
  });
});
