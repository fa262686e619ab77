/** Number of steps used for a trend. */
export const HISTORY = 10;

/**
 * Least-squares slope of values one step apart, oldest first; 0 for fewer than two values. The order of the sums is
 * fixed, so that equal histories give bit-identical slopes.
 */
export function slope(values: ArrayLike<number>): number {
  const count = values.length;
  if (count < 2) return 0;
  const middle = (count - 1) / 2;
  let mean = 0;
  for (let i = 0; i < count; i++) mean += values[i] as number;
  mean /= count;
  let above = 0;
  let below = 0;
  for (let i = 0; i < count; i++) {
    above += (i - middle) * ((values[i] as number) - mean);
    below += (i - middle) * (i - middle);
  }
  return above / below;
}
