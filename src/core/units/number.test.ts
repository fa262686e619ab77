import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseNumber } from "./number.ts";

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
