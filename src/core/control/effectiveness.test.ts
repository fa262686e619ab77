import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { monotonicInstant, watts } from "../units/index.ts";
import { type CapWatch, capVerdict, observeCap, toleratedPower, watchCap } from "./effectiveness.ts";

const readBack = monotonicInstant(1000);
/** One reading per second; each interval starts after the read-back. */
const feed = (watch: CapWatch, ...powers: (number | undefined)[]): CapWatch =>
  powers.reduce<CapWatch>(
    (so, power) => observeCap(so, power === undefined ? undefined : watts(power), readBack),
    watch,
  );
const verdictAfter = (cap: number, ...powers: (number | undefined)[]) =>
  capVerdict(feed(watchCap(watts(cap), readBack), ...powers));

describe("toleratedPower", () => {
  it.each([
    [40, 45],
    [100, 105],
    [101, 106.05],
    [240, 252],
  ])("is the cap of %d W plus 5 W or 5 %%: %d W", (cap, tolerated) => {
    expect(toleratedPower(watts(cap))).toBeCloseTo(tolerated, 9);
  });
});

describe("cap effectiveness", () => {
  it("is untested while power has never been above the cap", () => {
    expect(verdictAfter(240)).toBe("not yet tested by load");
    expect(verdictAfter(240, 240)).toBe("not yet tested by load");
    expect(verdictAfter(240, 240.01)).toBe("effective");
    expect(verdictAfter(240, 100, 239, 240, 240)).toBe("not yet tested by load");
  });

  it("is not effective once power exceeds the tolerance for three ticks", () => {
    expect(verdictAfter(240, 300)).toBe("being tested by load");
    expect(verdictAfter(240, 300, 300)).toBe("being tested by load");
    expect(verdictAfter(240, 300, 300, 300)).toBe("not effective");
  });

  it("counts only consecutive readings above the tolerance", () => {
    expect(verdictAfter(240, 252)).toBe("effective");
    expect(verdictAfter(240, 252.01)).toBe("being tested by load");
    // The smoothed power is 300, 300, then 0.3·100 + 0.7·300 = 240, then 258.
    expect(feed(watchCap(watts(240), readBack), 300, 300, 100).ema).toBe(240);
    expect(verdictAfter(240, 300, 300, 100, 300)).toBe("being tested by load");
    expect(verdictAfter(240, 300, 300, 100, 300, 300, 300)).toBe("not effective");
  });

  it("is effective when power rose above the cap and came back below", () => {
    expect(verdictAfter(240, 245, 238, 240)).toBe("effective");
  });

  it("stays not effective after the load drops, until the next read-back", () => {
    const broken = feed(watchCap(watts(240), readBack), 300, 300, 300);
    expect(capVerdict(feed(broken, 50, 50, 50, 50))).toBe("not effective");
    expect(capVerdict(watchCap(broken.cap, readBack))).toBe("not yet tested by load");
  });

  it("ignores readings from before the cap had to hold", () => {
    const watch = watchCap(watts(240), readBack);
    expect(observeCap(watch, watts(400), monotonicInstant(999))).toBe(watch);
    expect(observeCap(watch, watts(400), monotonicInstant(1000)).ema).toBe(400);
  });

  it.each([undefined, Number.NaN, Infinity, -1])("ignores a reading of %s", (power) => {
    const watch = feed(watchCap(watts(240), readBack), 300);
    expect(feed(watch, power)).toBe(watch);
    expect(feed(watch, 0).ema).toBeCloseTo(210, 9);
  });

  it("never reports a device whose noisy power stays below the tolerance", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 251.9, noNaN: true })), (powers) => {
        expect(verdictAfter(240, ...powers)).not.toBe("not effective");
      }),
    );
  });

  it("always reports a device that stays above the tolerance", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 252.1, max: 1e6, noNaN: true }), { minLength: 3 }), (powers) => {
        expect(verdictAfter(240, ...powers)).toBe("not effective");
      }),
    );
  });
});
