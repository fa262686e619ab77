import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Celsius, celsius, type Watts, watts } from "../units/index.ts";
import {
  ambientOf,
  baselineAmbient,
  defaultReferenceNodePower,
  estimatedPue,
  type FacilityPower,
  linearCoolingModel,
  pueOf,
} from "./cooling.ts";

const linear = linearCoolingModel();
const stress = (power: number, ambient: number) => linear.coolingStress(watts(power), celsius(ambient));

describe("the linear cooling model", () => {
  it("TWN-15 TWN-18 computes nodePower/4000·80 + (temp − 20)·0.5: 1440 W at 25 °C give 31.3", () => {
    expect(stress(1440, 25)).toBe(31.3);
    expect(stress(1440, 20)).toBe(28.8);
  });

  it("TWN-17 scores the reference power as 80 at 20 °C and as 90 at 40 °C", () => {
    expect(defaultReferenceNodePower).toBe(4000);
    expect(stress(4000, 20)).toBe(80);
    expect(stress(4000, 40)).toBe(90);
  });

  it.each([19.9, 0, -30, -273])("TWN-17 X-79 does not lower the score for an ambient of %d °C", (ambient) => {
    expect(stress(4000, ambient)).toBe(80);
  });

  it("TWN-16 stays in 0–100", () => {
    expect(stress(5000, 20)).toBe(100);
    expect(stress(4990, 20)).toBeCloseTo(99.8, 9);
    expect(stress(0, 20)).toBe(0);
    expect(stress(0, 1000)).toBe(100);
    expect(stress(-100, 20)).toBe(0);
    const figure = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(figure, figure, (power, ambient) => {
        const value = stress(power, ambient) ?? Number.NaN;
        expect(value >= 0 && value <= 100).toBe(true);
      }),
    );
  });

  it("X-31 returns no score, instead of 0, if power or ambient is not a number", () => {
    expect(stress(Number.NaN, 20)).toBeUndefined();
    expect(stress(1000, Number.NaN)).toBeUndefined();
  });

  it("TWN-15 uses the configured reference power", () => {
    const small = linearCoolingModel({ referenceNodePower: watts(1000) });
    expect(small.coolingStress(watts(500), celsius(20))).toBe(40);
    expect(linearCoolingModel({}).coolingStress(watts(2000), celsius(20))).toBe(40);
  });

  it("X-144 with `auto` compares with the rated power of the node, and predicts nothing if that is unknown", () => {
    const auto = linearCoolingModel({ referenceNodePower: "auto" });
    expect(auto.coolingStress(watts(300), celsius(30), watts(600))).toBe(45);
    expect(auto.coolingStress(watts(300), celsius(30))).toBeUndefined();
  });
});

describe("ambientOf", () => {
  it("X-34 uses the temperature of the zone, else that of the site", () => {
    expect(ambientOf(celsius(30), celsius(22))).toBe(30);
    expect(ambientOf(undefined, celsius(22))).toBe(22);
    expect(ambientOf(celsius(Number.NaN), celsius(22))).toBe(22);
  });

  it.each([undefined, Number.NaN, Infinity])("X-79 returns 20 °C for a reading of %s", (reading) => {
    expect(ambientOf(reading as Celsius | undefined, reading as Celsius | undefined)).toBe(20);
    expect(baselineAmbient).toBe(20);
  });

  it("X-79 accepts temperatures of zero and below", () => {
    expect(ambientOf(celsius(-12), celsius(22))).toBe(-12);
    expect(ambientOf(celsius(0), celsius(22))).toBe(0);
  });
});

const facility = (it?: number, cooling?: number): FacilityPower => ({
  it: it as Watts | undefined,
  cooling: cooling as Watts | undefined,
});

describe("pueOf", () => {
  it("OPR-40 computes (IT + cooling)/IT: 1000 W and 600 W give 1.6", () => {
    expect(pueOf(facility(1000, 600))).toBe(1.6);
    expect(pueOf(facility(1000, 0))).toBe(1);
  });

  it.each([
    [0, 600],
    [-1, 600],
    [undefined, 600],
    [Number.NaN, 600],
    [1000, undefined],
    [1000, Number.NaN],
    [1000, -600],
    [1e-300, 1e300],
  ])("X-71 returns no PUE for IT power %s and cooling power %s", (it, cooling) => {
    expect(pueOf(facility(it, cooling))).toBeUndefined();
    expect(estimatedPue(facility(it, cooling), facility(it, cooling))).toBe(1);
  });

  it("returns a defined result when the sum of the powers overflows", () => {
    expect(pueOf(facility(1e308, 1e308))).toBe(2);
  });
});

describe("estimatedPue", () => {
  const site = { it: watts(1000), cooling: watts(200) };

  it("OPR-42 X-71 uses the PUE of the zone if it is known, else the PUE of the site", () => {
    expect(estimatedPue(facility(1000, 600), site)).toBe(1.6);
    expect(estimatedPue(undefined, site)).toBe(1.2);
    expect(estimatedPue(facility(1000), site)).toBe(1.2);
    expect(estimatedPue(facility(0, 600), site)).toBe(1.2);
  });

  it("OPR-43 returns 1 without facility metrics", () => {
    expect(estimatedPue()).toBe(1);
  });

  it("X-71 returns a number of at least 1 for any readings", () => {
    const any = fc.option(fc.double(), { nil: undefined });
    fc.assert(
      fc.property(any, any, any, any, (a, b, c, d) => {
        const pue = estimatedPue(facility(a, b), facility(c, d));
        expect(pue >= 1 && Number.isFinite(pue)).toBe(true);
      }),
    );
  });
});
