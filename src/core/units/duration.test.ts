import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";
import { milliseconds } from "./physical-units.ts";

const HOUR = 3_600_000;

describe("parseDuration", () => {
  it.each([
    ["0", 0],
    ["+0", 0],
    ["0s", 0],
    ["30s", 30_000],
    ["+30s", 30_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["5.s", 5000],
    ["10us", 0.01],
    ["10\u00b5s", 0.01],
    ["10\u03bcs", 0.01],
    ["1ns", 1e-6],
    ["0.1ms", 0.1],
    ["0.9ns", 0],
    ["1h2m3.004005006s", HOUR + 2 * 60_000 + 3004.005006],
    ["30m1h", 5_400_000],
    ["1s1s", 2000],
    ["0.830103483285477580700h", 2_988_372.539827],
    ["2562047h", 2562047 * HOUR],
  ])("reads %j", (text, value) => {
    expect(parseDuration(text)).toEqual({ ok: true, value });
  });

  it.each([
    "",
    "+",
    "30",
    "1.5",
    "banana",
    "30 s",
    " 30s",
    "30s ",
    "30s\n",
    "1d",
    "30S",
    ".s",
    "s",
    "1h30",
    "1e3s",
    "0x1s",
    "Infinity",
    "NaN",
    "1s+1s",
  ])("rejects %j with an error that quotes it and shows the expected unit", (text) => {
    const result = parseDuration(text);
    expect(result).toMatchObject({ ok: false, error: { text, expected: "a duration such as 30s, 5m or 1h30m" } });
    expect(!result.ok && result.error.message).toBe(
      `${JSON.stringify(text)} is not a duration such as 30s, 5m or 1h30m`,
    );
  });

  it.each(["-5s", "-0", "-0s", "-1h30m", "+-1s"])("rejects the negative %j", (text) => {
    expect(parseDuration(text)).toMatchObject({
      ok: false,
      error: { text, expected: expect.stringContaining("not negative") },
    });
  });

  it.each(["2562048h", "9223372036854775808ns", `${"9".repeat(50)}h`])("rejects the infinite %s", (text) => {
    expect(parseDuration(text)).toMatchObject({
      ok: false,
      error: { text, expected: expect.stringContaining("at most 2562047h") },
    });
  });

  it("returns a finite non-negative duration or an error for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.hmsun+-]{0,12}$/)), (text) => {
        const result = parseDuration(text);
        expect(result.ok ? result.value >= 0 && result.value < Infinity : result.error.text === text).toBe(true);
      }),
    );
  });

  it("limits the digits that are passed to BigInt", () => {
    const bigInt = vi.spyOn(globalThis, "BigInt");
    try {
      const many = 100_000;
      expect(parseDuration(`${"9".repeat(many)}ns`)).toMatchObject({ ok: false });
      expect(parseDuration(`${"0".repeat(many)}1.5s`)).toEqual({ ok: true, value: 1500 });
      expect(parseDuration(`0.${"0".repeat(many)}1h`)).toEqual({ ok: true, value: 0 });
      expect(parseDuration(`0.${"9".repeat(many)}h`)).toEqual({ ok: true, value: HOUR - 1e-6 });
      expect(Math.max(...bigInt.mock.calls.map(([digits]) => String(digits).length))).toBeLessThan(60);
    } finally {
      bigInt.mockRestore();
    }
  });

  it("adds its parts in whole nanoseconds", () => {
    const part = fc.nat({ max: 5000 });
    fc.assert(
      fc.property(part, part, part, part, part, part, (h, m, s, ms, us, ns) => {
        const total =
          ((BigInt(h) * 3600n + BigInt(m) * 60n + BigInt(s)) * 1000n + BigInt(ms)) * 1_000_000n +
          BigInt(us * 1000 + ns);
        expect(parseDuration(`${h}h${m}m${s}s${ms}ms${us}us${ns}ns`)).toEqual({
          ok: true,
          value: Number(`${total}e-6`),
        });
      }),
    );
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0s"],
    [1e-9, "0s"],
    [1e-6, "1ns"],
    [0.0015, "1.5µs"],
    [0.5, "500µs"],
    [1.5, "1.5ms"],
    [500, "500ms"],
    [1000, "1s"],
    [1500, "1.5s"],
    [30_000, "30s"],
    [90_000, "1m30s"],
    [300_000, "5m"],
    [HOUR, "1h"],
    [5_400_000, "1h30m"],
    [HOUR + 1, "1h0.001s"],
    [36 * HOUR, "36h"],
    [999.9999999, "1s"],
    [-1500, "-1.5s"],
    [Number.NaN, "NaN"],
    [Infinity, "Infinity"],
  ])("writes %d ms as %s", (length, text) => {
    expect(formatDuration(milliseconds(length))).toBe(text);
  });

  it("survives the largest double", () => {
    expect(formatDuration(milliseconds(1e308))).toMatch(/^2777777777777777\d+h38m38\.336s$/);
  });

  it("round-trips through parseDuration for any number of nanoseconds", () => {
    fc.assert(
      fc.property(fc.oneof(fc.bigInt(0n, 2n ** 62n), fc.bigInt(0n, 10n ** 13n)), (nanoseconds) => {
        const length = milliseconds(Number(`${nanoseconds}e-6`));
        expect(parseDuration(formatDuration(length))).toEqual({ ok: true, value: length });
      }),
      { numRuns: 2000 },
    );
  });
});
