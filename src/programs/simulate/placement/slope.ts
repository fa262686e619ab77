/** How many steps of power a trend looks back on. */
export const HISTORY = 10;

/**
 * The least-squares slope of values one step apart, oldest first; 0 with fewer than two. The sums are taken in this order
 * wherever a trend is made, so that equal histories have equal trends to the last bit.
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
