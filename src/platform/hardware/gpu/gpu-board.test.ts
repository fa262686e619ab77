import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { watts } from "../../../core/units/index.ts";
import {
  clampToRange,
  originalText,
  outcomeAfterRollback,
  parseOriginal,
  readBackOutcome,
  whyInvalidLimit,
} from "./gpu-board.ts";

const figures = [0, -1, 0.5, 1e308, Number.NaN, Infinity, -Infinity, -0];

describe("a GPU's limit", () => {
  it("quirk 9: is rejected near 0 W and beyond any GPU's range", () => {
    expect(figures.map((figure) => whyInvalidLimit(watts(figure)) !== undefined)).toEqual(figures.map(() => true));
    expect([1, 72, 1400].map((figure) => whyInvalidLimit(watts(figure)))).toEqual([undefined, undefined, undefined]);
  });

  it("survives the round trip through the journal", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 9_999_999 }), (milliwatts) => {
        const limit = watts(milliwatts / 1000);
        expect(parseOriginal(originalText(limit))).toBe(limit);
      }),
    );
  });

  it("is undefined for an invalid text", () => {
    for (const text of ["", "0", "1e3", "0x10", "-5", " 300", "300 W", "NaN", "99999", "3".repeat(400)]) {
      expect(parseOriginal(text)).toBeUndefined();
    }
    fc.assert(fc.property(fc.string(), (text) => parseOriginal(text) === undefined || Number(text) >= 1));
  });

  it("is clamped to a range, and to the lower end of a contradictory range", () => {
    expect(clampToRange(watts(300), {})).toBe(300);
    expect(clampToRange(watts(100), { min: watts(200), max: watts(700) })).toBe(200);
    expect(clampToRange(watts(800), { min: watts(200), max: watts(700) })).toBe(700);
    expect(clampToRange(watts(300), { min: watts(261), max: watts(220) })).toBe(220);
    expect(clampToRange(watts(300), { min: watts(0), max: watts(Number.NaN) })).toBe(300);
  });

  it.each([
    [400, 400, undefined, "applied"],
    [400, 400.4, 399.6, "applied"],
    [400, 700, 700, "error"],
    [600, 600, 500, "blocked"],
    [400, 400, 700, "error"],
  ])("requested %d, reported %d, enforced %s: %s", (asked, limit, enforced, result) => {
    const outcome = readBackOutcome({
      requested: watts(asked),
      limit: watts(limit),
      enforced: enforced === undefined ? undefined : watts(enforced),
    });
    expect(outcome.result).toBe(result);
    expect(outcome.message === undefined).toBe(result === "applied");
  });

  it("reports both errors if the rollback fails", async () => {
    const blocked = { result: "blocked", message: "enforced 500 W" } as const;
    expect(await outcomeAfterRollback(blocked, async () => {})).toEqual(blocked);
    const outcome = await outcomeAfterRollback(blocked, async () => Promise.reject(new Error("lost")));
    expect(outcome).toEqual({ result: "error", message: "enforced 500 W; restoring the previous limit failed: lost" });
  });
});
