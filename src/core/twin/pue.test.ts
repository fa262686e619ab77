import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Watts, watts } from "../units/index.ts";
import { estimatedPue, type FacilityPower, pueOf } from "./pue.ts";

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
