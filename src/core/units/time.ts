import type { Quantified } from "./brand.ts";

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
export function isoTime(at: Instant): string {
  if (lastFormatted?.at !== at) lastFormatted = { at, text: new Date(at).toISOString() };
  return lastFormatted.text;
}
