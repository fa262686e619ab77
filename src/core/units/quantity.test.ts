import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { parseQuantity } from "./quantity.ts";

const SCALE: Record<string, { times: bigint; over: bigint }> = {
  n: { times: 1n, over: 10n ** 9n },
  u: { times: 1n, over: 10n ** 6n },
  m: { times: 1n, over: 1000n },
  "": { times: 1n, over: 1n },
  k: { times: 10n ** 3n, over: 1n },
  M: { times: 10n ** 6n, over: 1n },
  G: { times: 10n ** 9n, over: 1n },
  T: { times: 10n ** 12n, over: 1n },
  P: { times: 10n ** 15n, over: 1n },
  E: { times: 10n ** 18n, over: 1n },
  Ki: { times: 1024n, over: 1n },
  Mi: { times: 1024n ** 2n, over: 1n },
  Gi: { times: 1024n ** 3n, over: 1n },
  Ti: { times: 1024n ** 4n, over: 1n },
  Pi: { times: 1024n ** 5n, over: 1n },
  Ei: { times: 1024n ** 6n, over: 1n },
};

/** The exact value in billionths, rounded up and capped, as one fraction of whole numbers. */
function nanosOf(whole: string, fraction: string, { times, over }: { times: bigint; over: bigint }): bigint {
  const numerator = BigInt(`0${whole}${fraction}`) * times * 10n ** 9n;
  const denominator = over * 10n ** BigInt(fraction.length);
  const roundedUp = (numerator + denominator - 1n) / denominator;
  const cap = (2n ** 63n - 1n) * 10n ** 9n;
  return roundedUp > cap ? cap : roundedUp;
}

const doubleOf = (nanos: bigint): number => Number(`${nanos}e-9`);
const digits = (minLength: number) => fc.stringMatching(new RegExp(`^\\d{${minLength},25}$`));
const mantissa = fc.oneof(
  fc.tuple(digits(1), digits(0)).map(([whole, fraction]) => ({ whole, fraction, text: `${whole}.${fraction}` })),
  digits(1).map((whole) => ({ whole, fraction: "", text: whole })),
  digits(1).map((fraction) => ({ whole: "", fraction, text: `.${fraction}` })),
);

describe("parseQuantity", () => {
  it.each([
    ["0", 0],
    ["-0", 0],
    ["100m", 0.1],
    ["1e3", 1000],
    ["1E3", 1000],
    ["1E", 1e18],
    ["1E+2", 100],
    [".5", 0.5],
    ["5.", 5],
    ["5.k", 5000],
    ["+1.5", 1.5],
    ["-250m", -0.25],
    ["12e6", 12e6],
    ["1e-3", 0.001],
    ["3n", 3e-9],
    ["7u", 7e-6],
    ["0.1", 0.1],
    ["1k", 1e3],
    ["1M", 1e6],
    ["1G", 1e9],
    ["1T", 1e12],
    ["1P", 1e15],
    ["1Ki", 1024],
    ["1Mi", 1048576],
    ["1Gi", 1073741824],
    ["1Ti", 1099511627776],
    ["1Pi", 1125899906842624],
    ["1Ei", 1152921504606846976],
    ["1.5Gi", 1610612736],
    ["0.5Ki", 512],
    ["0010", 10],
  ])("X-60 reads %j", (text, value) => {
    expect(parseQuantity(text)).toEqual({ ok: true, value });
  });

  it.each([
    "",
    " ",
    "1ki",
    "1K",
    "1mi",
    "1i",
    "e3",
    "1e",
    "1e+",
    "1e1.5",
    "1 Gi",
    " 1",
    "1 ",
    "1\n",
    "Gi",
    ".",
    "+",
    "-",
    ".m",
    "--1",
    "1.1.M",
    "1e3Ki",
    "1Kik",
    "1GiB",
    "0x10",
    "1_000",
    "1,5",
    "NaN",
    "Infinity",
    "constructor",
    "1constructor",
  ])("rejects %j with an error that quotes it", (text) => {
    const result = parseQuantity(text);
    expect(result.ok).toBe(false);
    expect(!result.ok && result.error.text).toBe(text);
    expect(!result.ok && result.error.message).toContain(JSON.stringify(text));
  });

  it.each([
    ["0.1n", 1e-9],
    ["-0.1n", -1e-9],
    ["1.0000000000000000001n", 2e-9],
    ["1e-400", 1e-9],
    ["1e-99999999999999999999999", 1e-9],
    ["0e99999999999999999999999", 0],
    [`0.${"0".repeat(50)}1Ki`, 1e-9],
  ])("rounds fractions of a billionth away from zero: %s", (text, value) => {
    expect(parseQuantity(text)).toEqual({ ok: true, value });
  });

  it.each([
    ["9223372036854775807", 2 ** 63],
    ["8Ei", 2 ** 63],
    ["10E", 2 ** 63],
    ["-10E", -(2 ** 63)],
    ["1e400", 2 ** 63],
    ["1e99999999999999999999999", 2 ** 63],
    ["9".repeat(50), 2 ** 63],
  ])("caps values beyond 2^63-1: %s", (text, value) => {
    expect(parseQuantity(text)).toEqual({ ok: true, value });
  });

  it("X-60 equals the exact value for every suffix, sign and number form", () => {
    fc.assert(
      fc.property(
        mantissa,
        fc.constantFrom(...Object.keys(SCALE)),
        fc.constantFrom("", "+", "-"),
        (number, suffix, sign) => {
          const exact = doubleOf(nanosOf(number.whole, number.fraction, SCALE[suffix] ?? { times: 0n, over: 1n }));
          const value = sign === "-" && exact !== 0 ? -exact : exact;
          expect(parseQuantity(`${sign}${number.text}${suffix}`)).toEqual({ ok: true, value });
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("X-60 equals the exact value next to every multiple of a billionth, for any number of digits", () => {
    const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
    const tail = fc.constantFrom("", "0".repeat(90), `${"0".repeat(90)}1`, "9".repeat(90), "1");
    fc.assert(
      fc.property(fc.constantFrom(...binary), fc.bigInt(0n, 10n ** 20n), tail, (suffix, nanos, end) => {
        const scale = SCALE[suffix] ?? { times: 0n, over: 1n };
        // nanos / (10^9 × 2^shift) ends after at most 69 decimals.
        const decimals = (nanos * 10n ** 69n) / (scale.times * 10n ** 9n);
        const text = decimals.toString().padStart(70, "0");
        const [whole, fraction] = [text.slice(0, -69), text.slice(-69) + end];
        const value = doubleOf(nanosOf(whole, fraction, scale));
        expect(parseQuantity(`${whole}.${fraction}${suffix}`)).toEqual({ ok: true, value });
      }),
      { numRuns: 1000 },
    );
  });

  it("limits the digits that are passed to BigInt", () => {
    const bigInt = vi.spyOn(globalThis, "BigInt");
    try {
      const many = 100_000;
      const read = [
        parseQuantity(`${"9".repeat(many)}Ki`),
        parseQuantity(`${"0".repeat(many)}1Ki`),
        parseQuantity(`0.${"0".repeat(many)}1Ei`),
        parseQuantity(`1.${"9".repeat(many)}Ei`),
        parseQuantity(`0.${"9".repeat(many)}`),
        parseQuantity(`${"9".repeat(many)}e-${many}`),
      ];
      expect(read.map((result) => result.ok && result.value)).toEqual([2 ** 63, 1024, 1e-9, 2 ** 61, 1, 1]);
      expect(Math.max(...bigInt.mock.calls.map(([digits]) => String(digits).length))).toBeLessThan(200);
    } finally {
      bigInt.mockRestore();
    }
  });

  it("X-60 equals the exact value for every exponent", () => {
    fc.assert(
      fc.property(
        mantissa,
        fc.integer({ min: -60, max: 60 }),
        fc.constantFrom("e", "E"),
        (number, exponent, letter) => {
          const scale =
            exponent < 0 ? { times: 1n, over: 10n ** BigInt(-exponent) } : { times: 10n ** BigInt(exponent), over: 1n };
          const value = doubleOf(nanosOf(number.whole, number.fraction, scale));
          expect(parseQuantity(`${number.text}${letter}${exponent}`)).toEqual({ ok: true, value });
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("never throws, for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.eE+\-KMGi]{0,12}$/)), (text) => {
        const result = parseQuantity(text);
        expect(result.ok ? Number.isFinite(result.value) : result.error.text === text).toBe(true);
      }),
    );
  });
});
