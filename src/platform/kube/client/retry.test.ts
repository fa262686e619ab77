import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { seededRandom } from "../../random/index.ts";
import { ApiError, type ApiErrorKind, mayRepeat, waitAfter, waitAfterError } from "./errors.ts";

const backoff = { first: milliseconds(100), longest: milliseconds(5000) };
const middle = { next: () => 0.5 };

describe("waitAfter", () => {
  it("doubles up to the maximum", () => {
    expect([1, 2, 3, 6, 7, 50].map((failures) => waitAfter(failures, backoff, middle))).toEqual([
      100, 200, 400, 3200, 5000, 5000,
    ]);
  });

  it("applies a jitter of ±50 % and handles any count", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (failures, seed) => {
        const wait = waitAfter(failures, backoff, seededRandom(seed));
        expect(wait).toBeGreaterThanOrEqual(50);
        expect(wait).toBeLessThanOrEqual(7500);
      }),
    );
  });
});

describe("waitAfterError", () => {
  const retryAfterUntil = (ms: number) => new ApiError("tooMany", "x", { retryAfter: milliseconds(ms) });
  const wait = (error: unknown) => waitAfterError(error, 1, backoff, milliseconds(60_000), middle);

  it("is at least the requested delay, and bounded", () => {
    expect(wait(retryAfterUntil(10_000))).toBeGreaterThanOrEqual(10_000);
    expect(wait(retryAfterUntil(10_000))).toBeLessThanOrEqual(11_000);
    expect(wait(retryAfterUntil(1))).toBe(100);
    expect(wait(retryAfterUntil(86_400_000))).toBeLessThanOrEqual(66_000);
    expect(wait(retryAfterUntil(Infinity))).toBeLessThanOrEqual(66_000);
  });

  it("is the normal backoff for any other error", () => {
    for (const error of [undefined, new Error("x"), new ApiError("network", "x")]) expect(wait(error)).toBe(100);
  });
});

describe("mayRepeat", () => {
  const repeats = (kind: ApiErrorKind, idempotent: boolean, notDone = false) =>
    mayRepeat(new ApiError(kind, "x", { notDone }), idempotent);

  it.each<[ApiErrorKind, boolean]>([
    ["tooMany", true],
    ["network", true],
    ["timeout", true],
    ["unavailable", true],
    ["internal", true],
    ["garbled", true],
    ["conflict", false],
    ["alreadyExists", false],
    ["notFound", false],
    ["gone", false],
    ["forbidden", false],
    ["unauthorized", false],
    ["invalid", false],
    ["badRequest", false],
    ["tooLarge", false],
    ["busy", false],
  ])("an idempotent call after %s: %s", (kind, expected) => {
    expect(repeats(kind, true)).toBe(expected);
  });

  it("allows a non-idempotent call only if it was certainly not executed", () => {
    expect(repeats("network", false)).toBe(false);
    expect(repeats("timeout", false)).toBe(false);
    expect(repeats("unavailable", false)).toBe(false);
    expect(repeats("network", false, true)).toBe(true);
    expect(repeats("tooMany", false, true)).toBe(true);
    expect(mayRepeat(new Error("x"), true)).toBe(false);
  });
});
