declare const unit: unique symbol;

/** A number with a unit: `Watts` cannot be passed as `Percent`. It has no cost at run time. */
export type Quantified<Unit extends string> = number & { readonly [unit]: Unit };

/** 0–100 for shares; also used for scores and stresses. */
export type Percent = Quantified<"%">;

export const percent = (value: number): Percent => value as Percent;

/** `percentOf(percent(60), watts(400))` is 240 W. */
export const percentOf = <Quantity extends number>(share: Percent, whole: Quantity): Quantity =>
  ((share * whole) / 100) as Quantity;

/** Sub-zero values are valid. */
export type Celsius = Quantified<"°C">;

export const celsius = (value: number): Celsius => value as Celsius;

export type Watts = Quantified<"W">;
/** Joules, not microjoules: 2^53 µJ is ten days at 10 kW. */
export type Joules = Quantified<"J">;
/** Rate of change of power; positive means rising. */
export type WattsPerMinute = Quantified<"W/min">;

export const watts = (value: number): Watts => value as Watts;
export const joules = (value: number): Joules => value as Joules;
export const wattsPerMinute = (value: number): WattsPerMinute => value as WattsPerMinute;

export const wattsFromMicrowatts = (microwatts: number): Watts => watts(microwatts / 1e6);
export const wattsFromMilliwatts = (milliwatts: number): Watts => watts(milliwatts / 1e3);
export const joulesFromMicrojoules = (microjoules: number): Joules => joules(microjoules / 1e6);

/** A power in texts for people: at most `digits` decimals, no trailing zeros. */
export const formatWatts = (value: number, digits = 3): string => `${Number(value.toFixed(digits))} W`;

export const energyOver = (power: Watts, time: Seconds): Joules => joules(power * time);
export const powerOver = (energy: Joules, time: Seconds): Watts => watts(energy / time);

/** A duration for arithmetic with power and energy. */
export type Seconds = Quantified<"s">;
/** A duration for timers and clocks. */
export type Milliseconds = Quantified<"ms">;
/** A point in time: milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = Quantified<"ms since 1970">;
declare const clock: unique symbol;
/**
 * A point on the monotonic clock, for rates and cooldowns: the wall clock may jump by an hour between two ticks. It is the
 * duration since that clock's start, so deadlines are plain sums. It is not a calendar time.
 */
export type MonotonicInstant = Milliseconds & { readonly [clock]: "monotonic" };

export const seconds = (value: number): Seconds => value as Seconds;
export const milliseconds = (value: number): Milliseconds => value as Milliseconds;
export const instant = (value: number): Instant => value as Instant;
export const monotonicInstant = (value: number): MonotonicInstant => value as MonotonicInstant;

/** Clocks of two machines may differ, so a sample from the future is as unreliable as an old one. */
export const isStale = (at: Instant, now: Instant, after: Milliseconds): boolean => !(Math.abs(now - at) <= after);

export const inSeconds = (length: Milliseconds): Seconds => seconds(length / 1000);
export const between = (from: Instant, to: Instant): Milliseconds => milliseconds(to - from);
export const after = (from: Instant, length: Milliseconds): Instant => instant(from + length);
export const elapsed = (from: MonotonicInstant, to: MonotonicInstant): Milliseconds => milliseconds(to - from);

let lastFormatted: { readonly at: Instant; readonly text: string } | undefined;

/** The time in ISO 8601. It keeps the last text, because a planning pass writes one time to thousands of objects. */
/** Undefined for a text that is no time, and for anything that is no text. */
export function parseInstant(text: unknown): Instant | undefined {
  const time = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : instant(time);
}

export function isoTime(at: Instant): string {
  if (lastFormatted?.at !== at) lastFormatted = { at, text: new Date(at).toISOString() };
  return lastFormatted.text;
}
