// Quantiles from a histogram on a metrics page.

/** Cumulative counts by upper bound. */
type Buckets = ReadonlyMap<number, number>;

/** The buckets of all series of a histogram, summed over their labels. */
export function bucketsOf(page: string, name: string): Buckets {
  const sums = new Map<number, number>();
  for (const [, labels = "", count] of page.matchAll(new RegExp(`^${name}_bucket\\{(.*)\\} (\\S+)$`, "gm"))) {
    const bound = /(?:^|,)le="([^"]+)"/.exec(labels)?.[1] ?? "";
    const upper = bound === "+Inf" ? Infinity : Number(bound);
    sums.set(upper, (sums.get(upper) ?? 0) + Number(count));
  }
  return new Map([...sums].toSorted(([a], [b]) => a - b));
}

/** Interpolates within the bucket as Prometheus does; in seconds. */
export function quantileOf(buckets: Buckets, share: number): number {
  const total = buckets.get(Infinity) ?? 0;
  if (total === 0) return Number.NaN;
  const rank = share * total;
  let [lower, below] = [0, 0];
  for (const [upper, count] of buckets) {
    // Above the highest bound nothing is known but the bound.
    if (count >= rank)
      return Number.isFinite(upper) ? lower + ((upper - lower) * (rank - below)) / (count - below) : lower;
    [lower, below] = [upper, count];
  }
  return lower;
}
