import type { PowerSource } from "../api/index.ts";
import {
  type Instant,
  isNonNegative,
  milliseconds,
  type Watts,
  type WattsPerMinute,
  wattsPerMinute,
} from "../units/index.ts";

export interface PowerSample {
  readonly at: Instant;
  readonly power: Watts;
  /** Readings of two sources differ, and that difference is no trend. */
  readonly source: PowerSource;
}

/** The power samples of a node over the last five minutes: oldest first, all from one source. */
export type PowerWindow = readonly PowerSample[];

const MINUTE = 60_000;
const WINDOW = 5 * MINUTE;
/** Two samples per second. Beyond that the oldest sample is evicted, to bound the memory per node. */
const MAX_SAMPLES = 600;

/**
 * The window with one more sample. Samples may arrive late, out of order or twice (the last one of an instant counts). If the
 * newest sample is ahead of `now`, a clock was set back or ran ahead: the window starts over instead of waiting for time to
 * catch up. Samples that are invalid or outside the window are ignored.
 */
export function withSample(window: PowerWindow, sample: PowerSample, now: Instant): PowerWindow {
  const newest = window.at(-1);
  const startsOver = newest !== undefined && isBeyondClockSkew(newest.at, now);
  const known = startsOver ? [] : window;
  if (!isNonNegative(sample.power) || !isRecent(sample, now)) return known;
  const samples = newest?.source === sample.source ? known.filter((one) => isRecent(one, now)) : [];
  const place = samples.findLastIndex(({ at }) => at < sample.at) + 1;
  samples.splice(place, samples[place]?.at === sample.at ? 1 : 0, sample);
  if (samples.length > MAX_SAMPLES) samples.shift();
  return samples;
}

/** Least-squares slope of the samples of the last five minutes; 0 with fewer than two. Positive means rising. */
export function slopeOf(window: PowerWindow, now: Instant): WattsPerMinute {
  // Times are relative to the first sample and both axes are centred, so that the sums stay small and exact.
  let first: Instant | undefined;
  let count = 0;
  let minutes = 0;
  let power = 0;
  for (const sample of window) {
    if (!isRecent(sample, now)) continue;
    first ??= sample.at;
    count++;
    minutes += ((sample.at - first) / MINUTE - minutes) / count;
    power += (sample.power - power) / count;
  }
  if (first === undefined) return wattsPerMinute(0);
  let covariance = 0;
  let variance = 0;
  for (const sample of window) {
    if (!isRecent(sample, now)) continue;
    const deviation = (sample.at - first) / MINUTE - minutes;
    covariance += deviation * (sample.power - power);
    variance += deviation * deviation;
  }
  const slope = covariance / variance;
  return wattsPerMinute(Number.isFinite(slope) ? slope : 0);
}

const isRecent = ({ at }: PowerSample, now: Instant): boolean => at >= now - WINDOW && !isBeyondClockSkew(at, now);

/** The allowed clock skew between two machines. A time further ahead means that one of the clocks was set. */
const allowedSkew = milliseconds(60_000);

export const isBeyondClockSkew = (at: Instant, now: Instant): boolean => at - now > allowedSkew;
