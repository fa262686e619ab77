import type { RandomSource } from "../../../core/units/index.ts";

/** A mean with its 95 % confidence interval; no interval for fewer than two values. */
export interface Estimate {
  readonly mean: number;
  readonly low?: number;
  readonly high?: number;
}

const RESAMPLES = 10_000;
const TAIL = 0.025;
/** Standard errors of a 95 % interval: of the normal distribution, and of Student's t with two to four values. */
const NORMAL = 1.959964;
const STUDENT: Readonly<Record<number, number>> = { 2: 12.7062, 3: 4.3027, 4: 3.1824 };

/**
 * Percentile bootstrap of the mean, widened for small samples: unwidened it covers the true mean in 50 % of cases
 * with two values and in 81 % with five. (The studentised bootstrap needs no factor, but with five values two nearly
 * equal ones make it explode.)
 */
export function estimateOf(values: readonly number[], random: RandomSource): Estimate {
  const mean = meanOf(values);
  if (values.length < 2) return { mean };
  const count = values.length;
  const fromMean = Float64Array.from(values, (value) => value - mean);
  const off = new Float64Array(RESAMPLES);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += fromMean[Math.floor(random.next() * count)] as number;
    off[sample] = sum / count;
  }
  const wider = widening(count);
  return { mean, low: mean + wider * quantile(off, TAIL), high: mean + wider * quantile(off, 1 - TAIL) };
}

/** Ratio of Student's t to the normal quantile, corrected for n − 1: small samples underestimate their spread. */
function widening(count: number): number {
  return (Math.sqrt(count / (count - 1)) * (STUDENT[count] ?? studentOf(count - 1))) / NORMAL;
}

/** Cornish-Fisher series; error below 0.3 % from four degrees of freedom. */
function studentOf(freedom: number): number {
  const z = NORMAL;
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  );
}

/** Sums offsets from the first value, so that equal values have exactly that mean. */
function meanOf(values: readonly number[]): number {
  const first = values[0] ?? 0;
  return first + values.reduce((sum, value) => sum + (value - first), 0) / Math.max(1, values.length);
}

/** Linear interpolation between ranks, as in most statistics packages; 0 for no values. */
export function quantile(values: Float64Array, share: number): number {
  const sorted = values.toSorted();
  const rank = share * (sorted.length - 1);
  const low = sorted[Math.floor(rank)] ?? 0;
  const high = sorted[Math.ceil(rank)] ?? low;
  return low + (high - low) * (rank - Math.floor(rank));
}
