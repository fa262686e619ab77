import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { celsius, seconds, watts } from "../units/index.ts";
import { facilityAt, inletAt, outsideAt, defaultFacility as site } from "./facility.ts";

const hour = (hours: number) => seconds(hours * 3600);
const rated = watts(1e6);

describe("a facility", () => {
  it("has a daily temperature cycle: warmest in the afternoon, coldest before dawn", () => {
    expect(outsideAt(site, hour(15))).toBeCloseTo(23, 9);
    expect(outsideAt(site, hour(3))).toBeCloseTo(9, 9);
    expect(outsideAt(site, hour(9))).toBeCloseTo(16, 9);
    expect(outsideAt(site, hour(15 + 24 * 400))).toBeCloseTo(23, 6);
  });

  it("keeps the supply air temperature constant while it is cool outside, and raises it when it is hot", () => {
    expect(inletAt(site, celsius(-20))).toBe(22);
    expect(inletAt(site, celsius(16))).toBe(22);
    expect(inletAt(site, celsius(26))).toBeCloseTo(26, 9);
  });

  it("has a PUE that rises as load falls and as it gets warmer", () => {
    expect(facilityAt(site, hour(3), rated, rated)).toEqual({
      outside: expect.closeTo(9, 9),
      inlet: 22,
      it: 1e6,
      cooling: expect.closeTo(130_000, 6),
      pue: expect.closeTo(1.13, 9),
    });
    expect(facilityAt(site, hour(3), watts(2.5e5), rated).pue).toBeCloseTo(1.28, 9);
    expect(facilityAt(site, hour(15), rated, rated).pue).toBeCloseTo(1.13 + 7 * 0.012, 9);
  });

  it("never lowers cooling power and never raises PUE as IT power rises", () => {
    const power = fc.double({ min: 1, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(power, power, fc.double({ min: 0, max: 1e6, noNaN: true }), (a, b, at) => {
        const less = facilityAt(site, seconds(at), watts(Math.min(a, b)), rated);
        const more = facilityAt(site, seconds(at), watts(Math.max(a, b)), rated);
        expect(more.cooling).toBeGreaterThanOrEqual(less.cooling);
        expect(more.pue ?? 0).toBeLessThanOrEqual((less.pue ?? 0) + 1e-9);
        expect(more.pue).toBeGreaterThan(1);
      }),
    );
  });

  it.each([Number.NaN, Infinity, -Infinity])("treats an invalid time (%d) as midnight", (at) => {
    expect(facilityAt(site, seconds(at), rated, rated)).toEqual(facilityAt(site, hour(0), rated, rated));
    expect(facilityAt(site, seconds(1e308), rated, rated).pue).toBeGreaterThan(1);
  });

  it.each([0, -1, Number.NaN, Infinity])("returns no PUE for an IT power of %d", (it) => {
    const reading = facilityAt(site, hour(3), watts(it), watts(it));
    expect(reading).toMatchObject({ it: 0, cooling: 0 });
    expect(reading.pue).toBeUndefined();
  });
});
