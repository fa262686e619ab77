import { type BadText, badText, ok, type Result } from "./number.ts";

// The syntax of Kubernetes quantities (apimachinery, resource.Quantity). The pattern is unambiguous, so it runs in linear time.
const QUANTITY = /^([+-])?(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?$/;

const POWER_OF_TEN: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const POWER_OF_TWO: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** The resolution of Kubernetes quantities is one billionth. */
const FINEST = -9;
const LARGEST = 2n ** 63n - 1n;
const DIGITS_OF_LARGEST = LARGEST.toString().length;

/**
 * `100m` is 0.1, `1Ki` 1024, `12e6` 12,000,000: the double nearest to the exact value. As in Kubernetes, values are rounded
 * away from zero to a multiple of 1n, so that a small request never becomes 0. Values beyond 2^63-1 are capped there, in every
 * format and not only in the binary one, so that a sum of quantities stays finite.
 */
export function parseQuantity(text: string): Result<number, BadText> {
  const match = QUANTITY.exec(text);
  if (match === null) return badText(text, "a Kubernetes quantity such as 4, 500m, 1.5Gi or 2e3");
  const [, sign, whole = "", fraction = match[4] ?? "", , exponent, suffix = ""] = match;
  const shift = POWER_OF_TWO[suffix];
  const powerOfTen = exponent === undefined ? (POWER_OF_TEN[suffix] ?? 0) : Number(exponent);
  const magnitude =
    shift === undefined
      ? magnitudeOf(whole + fraction, powerOfTen - fraction.length)
      : binaryMagnitudeOf(whole, fraction, shift);
  return ok(sign === "-" && magnitude !== 0 ? -magnitude : magnitude);
}

/**
 * whole.fraction × 2^shift. Parsing a BigInt takes quadratic time, so it gets only the digits that matter: a whole part too
 * long for the cap is capped, and a fraction is cut where no multiple of 1n × 2^-shift lies between it and the cut value. Such
 * a multiple ends after shift + 9 decimals; a 1 after them represents the digits that were cut off.
 */
function binaryMagnitudeOf(whole: string, fraction: string, shift: number): number {
  const significant = whole.replace(/^0+/, "");
  if (significant.length > DIGITS_OF_LARGEST) return Number(LARGEST);
  const matter = shift - FINEST;
  const rest = /[1-9]/.test(fraction.slice(matter)) ? "1" : "";
  const kept = fraction.slice(0, matter) + rest;
  return magnitudeOf((BigInt(significant + kept) << BigInt(shift)).toString(), -kept.length);
}

/** digits × 10^powerOfTen after Kubernetes' rounding and cap. The comparisons keep huge exponents out of BigInt. */
function magnitudeOf(digits: string, powerOfTen: number): number {
  const first = digits.search(/[1-9]/);
  if (first < 0) return 0;
  const significant = digits.slice(first);
  const digitsBeforePoint = significant.length + powerOfTen;
  if (powerOfTen >= FINEST && digitsBeforePoint < DIGITS_OF_LARGEST) return Number(`${significant}e${powerOfTen}`);
  if (digitsBeforePoint > DIGITS_OF_LARGEST) return Number(LARGEST);
  if (digitsBeforePoint < FINEST) return 1e-9;
  const nanos = wholeNanos(significant, powerOfTen - FINEST);
  return nanos > LARGEST * 10n ** 9n ? Number(LARGEST) : Number(`${nanos}e${FINEST}`);
}

function wholeNanos(digits: string, powerOfTen: number): bigint {
  if (powerOfTen >= 0) return BigInt(digits) * 10n ** BigInt(powerOfTen);
  const kept = BigInt(digits.slice(0, powerOfTen));
  return /[1-9]/.test(digits.slice(powerOfTen)) ? kept + 1n : kept;
}
