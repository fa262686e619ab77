import { type Instant, instant, type Milliseconds, milliseconds } from "../units/index.ts";

/** One resolution of a history: `length` buckets of `step` each. */
export interface HistoryTier {
  readonly step: Milliseconds;
  readonly length: number;
}

/** A day: the last hour in 10 seconds, the last six hours in minutes, the rest in 5 minutes. */
const dayOfHistory: readonly HistoryTier[] = [
  { step: milliseconds(10_000), length: 360 },
  { step: milliseconds(60_000), length: 360 },
  { step: milliseconds(300_000), length: 288 },
];

/** A day of one node, of which there may be thousands: the last hour in minutes, the rest in 5 minutes. 4 KB instead of 16. */
export const dayOfNodeHistory: readonly HistoryTier[] = [
  { step: milliseconds(60_000), length: 60 },
  { step: milliseconds(300_000), length: 288 },
];

/** Means per bucket, oldest first. A bucket without a value has null: missing data is never 0. */
export interface HistoryColumns<Series extends string> {
  readonly step: Milliseconds;
  /** The start of each bucket. */
  readonly at: readonly Instant[];
  readonly values: Readonly<Record<Series, readonly (number | null)[]>>;
}

export type HistorySample<Series extends string> = Readonly<Partial<Record<Series, number | undefined>>>;

/** What a file contains: a list of buckets per tier. */
export interface SavedHistory {
  readonly series: readonly string[];
  readonly tiers: readonly {
    readonly step: number;
    /** [number of the bucket, one value per series] */
    readonly buckets: readonly (readonly (number | null)[])[];
  }[];
}

/** A sample up to this many buckets late is ignored. A later one means that the machine's clock was set back. */
const MAX_LATE_BUCKETS = 2;

/** Means in buckets of several lengths, in a fixed amount of memory. A bucket without a sample is a gap. */
export class HistoryRing<const Series extends string> {
  readonly #series: readonly Series[];
  readonly #tiers: readonly Tier[];

  constructor(series: readonly Series[], tiers: readonly HistoryTier[] = dayOfHistory) {
    this.#series = series;
    this.#tiers = tiers.map((tier) => new Tier(tier, series.length));
  }

  record(at: Instant, sample: HistorySample<Series>): void {
    if (!Number.isFinite(at)) return;
    const values = this.#series.map((name) => sample[name] ?? Number.NaN);
    for (const tier of this.#tiers) tier.record(at, values);
  }

  /** The buckets from `from` to `to`, in the finest resolution that reaches back to `from`. */
  read(from: Instant, to: Instant): HistoryColumns<Series> {
    const tier = this.#tiers.find(({ span }) => to - from <= span) ?? this.#tiers.at(-1);
    if (tier === undefined) throw new RangeError("a history has at least one tier");
    const buckets = tier.between(from, to);
    return {
      step: tier.step,
      at: buckets.map(({ number }) => instant(number * tier.step)),
      values: Object.fromEntries(
        this.#series.map((name, index) => [name, buckets.map(({ values }) => values[index] ?? null)]),
      ) as Record<Series, (number | null)[]>,
    };
  }

  save(): SavedHistory {
    return {
      series: this.#series,
      tiers: this.#tiers.map((tier) => ({
        step: tier.step,
        buckets: tier.between(-Infinity, Infinity).map(({ number, values }) => [number, ...values]),
      })),
    };
  }

  /** Takes over a saved history. Series match by name and tiers by step. Series and tiers without a match are left out. */
  restore(saved: SavedHistory): void {
    const columns = this.#series.map((name) => saved.series.indexOf(name));
    for (const { step, buckets } of saved.tiers) {
      const tier = this.#tiers.find((candidate) => candidate.step === step);
      if (tier === undefined) continue;
      for (const [number, ...values] of buckets.toSorted((a, b) => Number(a[0]) - Number(b[0]))) {
        if (!Number.isSafeInteger(number)) continue;
        const ordered = columns.map((column) => (column < 0 ? Number.NaN : (values[column] ?? Number.NaN)));
        tier.record(Number(number) * step, ordered);
      }
    }
    this.interrupt();
  }

  /** Marks a pause before the next sample. It becomes an empty bucket, so that a chart draws no line across the pause. */
  interrupt(): void {
    for (const tier of this.#tiers) tier.interrupt();
  }
}

interface Bucket {
  readonly number: number;
  readonly values: (number | null)[];
}

/**
 * Bucket `n` lies at place `n % length`, so a new bucket replaces the one a whole span before. A place that holds another number
 * counts as empty.
 */
class Tier {
  readonly step: Milliseconds;
  readonly #length: number;
  readonly #width: number;
  readonly #numbers: Int32Array;
  readonly #means: Float32Array;
  /** How many samples the newest bucket has, per series. */
  readonly #counts: Uint32Array;
  #newest = EMPTY;
  #isInterrupted = false;

  constructor({ step, length }: HistoryTier, width: number) {
    this.step = step;
    this.#length = length;
    this.#width = width;
    this.#numbers = new Int32Array(length).fill(EMPTY);
    this.#means = new Float32Array(length * width).fill(Number.NaN);
    this.#counts = new Uint32Array(width);
  }

  get span(): number {
    return this.step * this.#length;
  }

  record(at: number, values: readonly number[]): void {
    const number = Math.floor(at / this.step);
    if (number < this.#newest) {
      if (this.#newest - number <= MAX_LATE_BUCKETS) return;
      this.#forgetFrom(number);
    }
    // Samples drift, and are sparse in simulated time, so a single empty bucket is not a gap.
    if (this.#isInterrupted && this.#newest !== EMPTY && number > this.#newest + 1) this.#open(this.#newest + 1);
    this.#isInterrupted = false;
    if (number !== this.#newest) this.#open(number);
    for (const [index, value] of values.entries()) if (Number.isFinite(value)) this.#addToNewest(index, value);
  }

  /** Updates the mean of one series in the newest bucket. */
  #addToNewest(index: number, value: number): void {
    const cell = (this.#newest % this.#length) * this.#width + index;
    const count = (this.#counts[index] ?? 0) + 1;
    const mean = count === 1 ? 0 : (this.#means[cell] ?? 0);
    this.#counts[index] = count;
    this.#means[cell] = mean + (value - mean) / count;
  }

  interrupt(): void {
    this.#isInterrupted = true;
  }

  /** Starts a bucket without values. */
  #open(number: number): void {
    const place = number % this.#length;
    this.#newest = number;
    this.#numbers[place] = number;
    this.#means.fill(Number.NaN, place * this.#width, (place + 1) * this.#width);
    this.#counts.fill(0);
  }

  between(from: number, to: number): Bucket[] {
    const oldest = Math.max(this.#newest - this.#length + 1, Math.floor(from / this.step));
    const buckets: Bucket[] = [];
    for (let number = Math.max(0, oldest); number <= this.#newest && number * this.step <= to; number++) {
      const place = number % this.#length;
      if (this.#numbers[place] !== number) continue;
      const values = this.#means.subarray(place * this.#width, (place + 1) * this.#width);
      buckets.push({ number, values: Array.from(values, (value) => (Number.isNaN(value) ? null : rounded(value))) });
    }
    return buckets;
  }

  /** Drops the buckets from `number` on, after the machine's clock was set back: new samples will have the same numbers. */
  #forgetFrom(number: number): void {
    for (const [place, existing] of this.#numbers.entries()) if (existing >= number) this.#numbers[place] = EMPTY;
    this.#newest = EMPTY;
  }
}

const EMPTY = -1;

/** Three decimals: a kilowatt needs no more, and the file stays small. */
const rounded = (value: number): number => Math.round(value * 1000) / 1000;
