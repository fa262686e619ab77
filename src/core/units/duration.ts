import { type BadText, badText, ok, type Result } from "./number.ts";
import { type Milliseconds, milliseconds } from "./physical-units.ts";

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  "\u00b5s": 1000n, // micro sign
  "\u03bcs": 1000n, // Greek mu, which looks the same
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const PART = /(?:(\d+)(?:\.(\d*))?|\.(\d+))(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;
/** Go stores durations as 63 bits of nanoseconds, about 292 years. Longer durations are errors. */
const MAX_NANOSECONDS = 2n ** 63n - 1n;
const DIGITS_OF_LONGEST = MAX_NANOSECONDS.toString().length;
/** Parsing a BigInt takes quadratic time. An hour has 13 digits of nanoseconds, so decimals after the 30th are irrelevant. */
const DECIMALS = 30;

const EXPECTED = "a duration such as 30s, 5m or 1h30m";

/** Parses Go's duration syntax (`time.ParseDuration`): `500ms`, `1.5h`, `1h30m`, `0`. Never negative. */
export function parseDuration(text: string): Result<Milliseconds, BadText> {
  const unsigned = text.startsWith("+") ? text.slice(1) : text;
  if (unsigned === "0") return ok(milliseconds(0));
  if (unsigned.startsWith("-")) return badText(text, `${EXPECTED}, and not negative`);
  const tooLong = () => badText(text, `${EXPECTED}, and at most 2562047h`);
  let total = 0n;
  PART.lastIndex = 0;
  for (let position = 0; position < unsigned.length; position = PART.lastIndex) {
    const match = PART.exec(unsigned);
    if (match === null) return badText(text, EXPECTED);
    const [, digits = "", decimals = match[3] ?? "", , unit = ""] = match;
    const whole = digits.replace(/^0+/, "");
    if (whole.length > DIGITS_OF_LONGEST) return tooLong();
    const fraction = decimals.slice(0, DECIMALS);
    total += (BigInt(whole + fraction) * (NANOSECONDS[unit] ?? 0n)) / 10n ** BigInt(fraction.length);
  }
  if (unsigned === "") return badText(text, EXPECTED);
  if (total > MAX_NANOSECONDS) return tooLong();
  return ok(milliseconds(Number(`${total}e-6`)));
}

/**
 * The shortest form that parses to the same duration: `1h30m`, `1.5s`, `250ms`, exact to the nanosecond. For messages it also
 * formats negative durations and NaN, which cannot be parsed.
 */
export function formatDuration(length: Milliseconds): string {
  if (!Number.isFinite(length)) return String(length);
  const size = Math.abs(length);
  const whole = Math.trunc(size);
  const nanoseconds = BigInt(whole) * 1_000_000n + BigInt(Math.round((size - whole) * 1e6));
  if (nanoseconds === 0n) return "0s";
  const sign = length < 0 ? "-" : "";
  if (nanoseconds < 1_000_000_000n) return sign + belowSecond(nanoseconds);
  return sign + fromSecond(nanoseconds);
}

function belowSecond(nanoseconds: bigint): string {
  if (nanoseconds < 1000n) return `${nanoseconds}ns`;
  return nanoseconds < 1_000_000n ? `${decimal(nanoseconds, 3)}\u00b5s` : `${decimal(nanoseconds, 6)}ms`;
}

function fromSecond(nanoseconds: bigint): string {
  const minutes = nanoseconds / 60_000_000_000n;
  const rest = nanoseconds % 60_000_000_000n;
  return [
    minutes >= 60n ? `${minutes / 60n}h` : "",
    minutes % 60n > 0n ? `${minutes % 60n}m` : "",
    rest > 0n ? `${decimal(rest, 9)}s` : "",
  ].join("");
}

/** `decimal(1500n, 3)` is "1.5". */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return digits.slice(0, -places) + (fraction === "" ? "" : `.${fraction}`);
}
