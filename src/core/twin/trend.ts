import type { PowerSource } from "../api/index.ts";
import { type Instant, isNonNegative, type Watts, type WattsPerMinute, wattsPerMinute } from "../units/index.ts";
import { isBeyondClockSkew } from "./clock-skew.ts";

export interface PowerSample {
  readonly at: Instant;
  readonly power: Watts;
  /** Two sources disagree about the same node; the difference is no trend. */
  readonly source: PowerSource;
}

const MINUTE = 60_000;
const WINDOW = 5 * MINUTE;
/** Two samples a second; past that the oldest leaves early, so that a node's memory stays bounded. */
const MOST_SAMPLES = 600;

/**
 * Where a node's power is going, by the samples of the last five minutes. They are kept in place and not copied with each one
 * that comes: a cluster has thousands of such windows, and all of them move in every pass.
 */
export class PowerTrend {
  /** Oldest first, all from one source. */
  readonly #samples: PowerSample[] = [];

  /**
   * Samples may come late, out of order or twice (the last word on an instant counts). A newest sample ahead of `now` was
   * taken before the clock was set back, or by one that was ahead for a moment: the window starts over rather than waiting
   * for time to catch up. What is no power, or not of these five minutes, is a missing sample.
   */
  add(sample: PowerSample, now: Instant): void {
    const samples = this.#samples;
    const newest = samples.at(-1);
    if (newest !== undefined && isBeyondClockSkew(newest.at, now)) samples.length = 0;
    if (!isNonNegative(sample.power) || !isRecent(sample, now)) return;
    if (newest?.source !== sample.source) samples.length = 0;
    while (samples[0] !== undefined && !isRecent(samples[0], now)) samples.shift();
    const place = samples.findLastIndex(({ at }) => at < sample.at) + 1;
    samples.splice(place, samples[place]?.at === sample.at ? 1 : 0, sample);
    if (samples.length > MOST_SAMPLES) samples.shift();
  }

  /** Least-squares slope of the samples that are at most five minutes old; 0 with fewer than two. Positive is rising. */
  slope(now: Instant): WattsPerMinute {
    // Minutes since the first sample and not since 1970, and both axes about their means: the sums stay small and exact.
    let first: Instant | undefined;
    let count = 0;
    let minutes = 0;
    let power = 0;
    for (const sample of this.#samples) {
      if (!isRecent(sample, now)) continue;
      first ??= sample.at;
      count++;
      minutes += ((sample.at - first) / MINUTE - minutes) / count;
      power += (sample.power - power) / count;
    }
    if (first === undefined) return wattsPerMinute(0);
    let covariance = 0;
    let variance = 0;
    for (const sample of this.#samples) {
      if (!isRecent(sample, now)) continue;
      const deviation = (sample.at - first) / MINUTE - minutes;
      covariance += deviation * (sample.power - power);
      variance += deviation * deviation;
    }
    const slope = covariance / variance;
    return wattsPerMinute(Number.isFinite(slope) ? slope : 0);
  }
}

const isRecent = ({ at }: PowerSample, now: Instant): boolean => at >= now - WINDOW && !isBeyondClockSkew(at, now);
