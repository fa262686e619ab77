import type { RandomSource } from "../../../core/units/index.ts";
import { quantile } from "./quantile.ts";

/** A mean, and where it would lie in 95 of 100 repeats; no interval of fewer than two values. */
export interface Estimate {
  readonly mean: number;
  readonly low?: number;
  readonly high?: number;
}

/** Enough for the second digit of an interval's ends. */
const RESAMPLES = 10_000;
/** Of fewer values too many resamples have no spread. */
const FEWEST_TO_RESAMPLE = 5;
/** Student's t for 95 %, of two, three and four values. */
const STUDENT: Readonly<Record<number, number>> = { 2: 12.706, 3: 4.303, 4: 3.182 };

export const methodOf = (values: number): string =>
  values < FEWEST_TO_RESAMPLE ? "Student's t" : "studentised bootstrap";

/**
 * How far off a mean of so few values may be depends on their own spread, which is as uncertain: so it is the mean's error in
 * units of that spread that is resampled (the studentised bootstrap). The plain percentile bootstrap calls 81 % what it says is
 * 95 % with five values.
 */
export function estimateOf(values: readonly number[], random: RandomSource): Estimate {
  const { mean, error } = momentsOf(values);
  if (values.length < 2) return { mean };
  const [low, high] = errorsOf(values, random);
  return { mean, low: mean - high * error, high: mean - low * error };
}

interface Moments {
  readonly mean: number;
  /** Of the mean. */
  readonly error: number;
}

/** Between which the mean's error lies, in units of what it is estimated at. */
function errorsOf(values: readonly number[], random: RandomSource): readonly [number, number] {
  const ofStudent = STUDENT[values.length];
  if (ofStudent !== undefined) return [-ofStudent, ofStudent];
  const { mean } = momentsOf(values);
  const errors: number[] = [];
  const resample = [...values];
  for (let sample = 0; sample < RESAMPLES; sample++) {
    for (let i = 0; i < values.length; i++) resample[i] = values[Math.floor(random.next() * values.length)] as number;
    const own = momentsOf(resample);
    // The same value again and again says nothing of the spread.
    if (own.error > 0) errors.push((own.mean - mean) / own.error);
  }
  const sorted = Float64Array.from(errors);
  return [quantile(sorted, 0.025), quantile(sorted, 0.975)];
}

function momentsOf(values: readonly number[]): Moments {
  const count = values.length;
  const first = values[0] ?? 0;
  // From the first on, or equal values would differ from their own mean by its last bit.
  const mean = first + values.reduce((sum, value) => sum + (value - first), 0) / Math.max(1, count);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / Math.max(1, count - 1) / Math.max(1, count)) };
}
