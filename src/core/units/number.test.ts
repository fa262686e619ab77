import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { abridged, badText, isNonNegative, isPositive, parseNumber } from "./number.ts";
import { type Watts, watts } from "./physical-units.ts";

describe("parseNumber", () => {
  it.each([
    ["0", 0],
    ["-0", 0],
    ["3", 3],
    ["-2.5", -2.5],
    ["+7", 7],
    [".5", 0.5],
    ["5.", 5],
    ["1e3", 1000],
    ["1E-3", 0.001],
    ["007", 7],
    ["1e-999", 0],
  ])("reads %j", (text, value) => {
    expect(parseNumber(text)).toEqual({ ok: true, value });
  });

  it.each([
    "",
    " ",
    "\t\n",
    " 1",
    "1 ",
    "0x10",
    "0b1",
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "1_000",
    "1,5",
    ".",
    "-",
    "e3",
    "1e",
    "1.2.3",
    "half",
    "٣",
  ])("rejects %j with an error that quotes it", (text) => {
    const result = parseNumber(text);
    expect(result.ok).toBe(false);
    expect(!result.ok && result.error.text).toBe(text);
    expect(!result.ok && result.error.message).toContain(JSON.stringify(text));
  });

  it("round-trips every finite number", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(parseNumber(String(value))).toEqual({ ok: true, value: value === 0 ? 0 : value });
      }),
    );
  });
});

describe("isPositive and isNonNegative", () => {
  it.each([0.001, 1, Number.MIN_VALUE, Number.MAX_VALUE])("%d is positive", (value) => {
    expect([isPositive(value), isNonNegative(value)]).toEqual([true, true]);
  });

  it.each([0, -0])("%d is not negative and not positive", (value) => {
    expect([isPositive(value), isNonNegative(value)]).toEqual([false, true]);
  });

  it.each([-0.001, Number.NaN, Infinity, -Infinity, undefined, null])("%s is neither", (value) => {
    expect([isPositive(value as number), isNonNegative(value as number)]).toEqual([false, false]);
  });

  it("preserve the unit type of the value", () => {
    const readings = [undefined, watts(5), watts(0)];
    const figures: Watts[] = readings.filter(isPositive);
    expect(figures).toEqual([5]);
  });
});

it("quotes invalid text, shortened if it is long", () => {
  expect(badText('say "x"', "a number")).toEqual({
    ok: false,
    error: { text: 'say "x"', expected: "a number", message: '"say \\"x\\"" is not a number' },
  });
  const long = "x".repeat(1_000_000);
  const result = badText(long, "a number");
  expect(!result.ok && result.error.message).toBe(`"${"x".repeat(80)}…" is not a number`);
  expect(!result.ok && result.error.text).toBe(long);
});

it("shortens only text that is too long", () => {
  expect([abridged(""), abridged("x".repeat(80))]).toEqual(["", "x".repeat(80)]);
  expect(abridged("x".repeat(81))).toBe(`${"x".repeat(80)}…`);
});
