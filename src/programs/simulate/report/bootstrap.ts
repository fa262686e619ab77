import type { RandomSource } from "../../../core/units/index.ts";

/** A mean, and where it would lie in 95 of 100 repeats; no interval of fewer than two values. */
export interface Estimate {
  readonly mean: number;
  readonly low?: number;
  readonly high?: number;
}

const RESAMPLES = 10_000;

/** The percentile bootstrap of a mean. It cannot know of a spread that its few values do not show: more seeds say more. */
export function estimateOf(values: readonly number[], random: RandomSource): Estimate {
  const mean = meanOf(values);
  if (values.length < 2) return { mean };
  const means = new Float64Array(RESAMPLES);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[Math.floor(random.next() * values.length)] as number;
    means[sample] = sum / values.length;
  }
  means.sort();
  return {
    mean,
    low: means[Math.floor(RESAMPLES * 0.025)] as number,
    high: means[Math.ceil(RESAMPLES * 0.975) - 1] as number,
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
