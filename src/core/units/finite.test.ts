import { describe, expect, it } from "vitest";
import { isNonNegative, isPositive } from "./finite.ts";
import { type Watts, watts } from "./power.ts";

describe("isPositive and isNonNegative", () => {
  it.each([0.001, 1, Number.MIN_VALUE, Number.MAX_VALUE])("%d is positive", (value) => {
    expect([isPositive(value), isNonNegative(value)]).toEqual([true, true]);
  });

  it.each([0, -0])("%d is not negative and not positive", (value) => {
    expect([isPositive(value), isNonNegative(value)]).toEqual([false, true]);
  });

  it.each([-0.001, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, undefined, null])(
    "%s is neither",
    (value) => {
      expect([isPositive(value as number), isNonNegative(value as number)]).toEqual([false, false]);
    },
  );

  it("preserve the unit type of the value", () => {
    const readings = [undefined, watts(5), watts(0)];
    const figures: Watts[] = readings.filter(isPositive);
    expect(figures).toEqual([5]);
  });
});
