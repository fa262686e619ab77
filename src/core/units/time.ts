import type { Quantified } from "./brand.ts";

/** A length of time for arithmetic with power and energy. */
export type Seconds = Quantified<"s">;
/** A length of time as timers and clocks count it. */
export type Milliseconds = Quantified<"ms">;
/** A point in time: milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = Quantified<"ms since 1970">;

export const seconds = (value: number): Seconds => value as Seconds;
export const milliseconds = (value: number): Milliseconds => value as Milliseconds;
export const instant = (value: number): Instant => value as Instant;

export const inSeconds = (length: Milliseconds): Seconds => seconds(length / 1000);
export const between = (from: Instant, to: Instant): Milliseconds => milliseconds(to - from);
export const after = (from: Instant, length: Milliseconds): Instant => instant(from + length);
