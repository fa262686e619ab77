import type { PowerSource } from "../api/index.ts";
import { type Instant, isNonNegative, type Watts, type WattsPerMinute, wattsPerMinute } from "../units/index.ts";
import { isAhead } from "./clock-skew.ts";

export interface PowerSample {
  readonly at: Instant;
  readonly power: Watts;
  /** Two sources disagree about the same node; the difference is no trend. */
  readonly source: PowerSource;
}

/** The samples of the last five minutes, oldest first, all from one source. */
export type TrendWindow = readonly PowerSample[];

export const noTrend: TrendWindow = [];

const MINUTE = 60_000;
const WINDOW = 5 * MINUTE;
/** Two samples a second; past that the oldest leaves early, so that a node's memory stays bounded. */
const MOST_SAMPLES = 600;

/**
 * The window with one more sample. Samples may come late, out of order or twice (the last word on an instant counts). A
 * newest sample ahead of `now` was taken before the clock was set back, or by one that was ahead for a moment: the window
 * starts over rather than waiting for time to catch up. What is no power, or not of these five minutes, is a missing sample.
 */
export function withSample(window: TrendWindow, sample: PowerSample, now: Instant): TrendWindow {
  const newest = window.at(-1);
  const believed = newest !== undefined && isAhead(newest.at, now) ? noTrend : window;
  if (!isNonNegative(sample.power) || !isRecent(sample, now)) return believed;
  if (newest?.source !== sample.source) return [sample];
  const kept = believed.filter((other) => isRecent(other, now) && other.at !== sample.at);
  const place = kept.findLastIndex(({ at }) => at < sample.at) + 1;
  return kept.toSpliced(place, 0, sample).slice(-MOST_SAMPLES);
}

const isRecent = ({ at }: PowerSample, now: Instant): boolean => at >= now - WINDOW && !isAhead(at, now);

/** Least-squares slope of the samples that are at most five minutes old; 0 with fewer than two. Positive is rising. */
export function powerTrend(window: TrendWindow, now: Instant): WattsPerMinute {
  const samples = window.filter((sample) => isRecent(sample, now));
  const [first] = samples;
  if (first === undefined) return wattsPerMinute(0);
  // Minutes since the first sample and not since 1970, and both axes about their means: the sums stay small and exact.
  let minutes = 0;
  let power = 0;
  samples.forEach((sample, index) => {
    minutes += ((sample.at - first.at) / MINUTE - minutes) / (index + 1);
    power += (sample.power - power) / (index + 1);
  });
  let covariance = 0;
  let variance = 0;
  for (const sample of samples) {
    const deviation = (sample.at - first.at) / MINUTE - minutes;
    covariance += deviation * (sample.power - power);
    variance += deviation * deviation;
  }
  const slope = covariance / variance;
  return wattsPerMinute(Number.isFinite(slope) ? slope : 0);
}
