/** Linear interpolation between ranks, as in most statistics packages; 0 for no values. */
export function quantile(values: Float64Array, share: number): number {
  const sorted = values.toSorted();
  const rank = share * (sorted.length - 1);
  const low = sorted[Math.floor(rank)] ?? 0;
  const high = sorted[Math.ceil(rank)] ?? low;
  return low + (high - low) * (rank - Math.floor(rank));
}
