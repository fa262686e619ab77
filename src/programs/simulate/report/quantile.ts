/** Linear between ranks, as most statistics packages have it; 0 of nothing. */
export function quantile(values: Float64Array, share: number): number {
  const sorted = values.toSorted();
  const rank = share * (sorted.length - 1);
  const low = sorted[Math.floor(rank)] ?? 0;
  const high = sorted[Math.ceil(rank)] ?? low;
  return low + (high - low) * (rank - Math.floor(rank));
}
