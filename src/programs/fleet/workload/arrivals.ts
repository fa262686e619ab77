import type { WORK_KINDS } from "../../../core/physics/index.ts";
import { type RandomSource, type Seconds, seconds } from "../../../core/units/index.ts";
import type { MachineSpec } from "../machines/machine-specs.ts";

interface JobKind {
  readonly kind: keyof typeof WORK_KINDS;
  readonly weight: number;
  /** Sizes with equal probability: cores, or boards for GPU jobs. */
  readonly sizes: readonly number[];
  readonly minutes: number;
}

const CPU_JOBS: readonly JobKind[] = [
  { kind: "compute", weight: 0.5, sizes: [8, 16, 32, 64], minutes: 15 },
  { kind: "analytics", weight: 0.3, sizes: [16, 32, 64], minutes: 25 },
  { kind: "service", weight: 0.2, sizes: [4, 8, 16], minutes: 30 },
];

const GPU_JOBS: readonly JobKind[] = [
  { kind: "training", weight: 0.4, sizes: [1, 2, 4], minutes: 40 },
  { kind: "dense", weight: 0.3, sizes: [1, 2], minutes: 10 },
  { kind: "decode", weight: 0.3, sizes: [1], minutes: 30 },
];

const CORES_PER_GPU = 6;

/** Relative arrival rate for each hour of the day (UTC), with mean 1: low at night, high during working hours. */
const DAY_SHAPE: readonly number[] = normalised([
  0.5, 0.45, 0.42, 0.42, 0.45, 0.55, 0.75, 1, 1.3, 1.5, 1.6, 1.6, 1.5, 1.55, 1.6, 1.6, 1.5, 1.4, 0.6, 0.58, 0.56, 0.54,
  0.52, 0.5,
]);

function normalised(hours: readonly number[]): readonly number[] {
  const mean = hours.reduce((sum, hour) => sum + hour, 0) / hours.length;
  return hours.map((hour) => hour / mean);
}

export interface JobArrival {
  readonly at: Seconds;
  readonly kind: JobKind["kind"];
  readonly cores: number;
  readonly gpus?: { readonly resource: string; readonly count: number };
  readonly work: Seconds;
  readonly performance: boolean;
}

export interface ArrivalOptions {
  readonly fleet: readonly MachineSpec[];
  readonly load: number;
  readonly performanceShare: number;
  /** Share of all cores and GPUs that a batch of jobs requests at half past every hour; 0 or undefined = no batches. */
  readonly batchShare?: number;
  /** Start of the workload in seconds after midnight. */
  readonly timeOfDay: Seconds;
  readonly random: RandomSource;
}

interface Stream {
  readonly jobs: readonly JobKind[];
  readonly resource?: string;
  readonly capacity: number;
  readonly rate: number;
}

const HOUR = 3600;
const DAY = DAY_SHAPE.length * HOUR;
const SHORTEST = 30;
const MAX_MEANS = 6;
const PEAK = Math.max(...DAY_SHAPE);

/** An endless series of jobs in time order, beginning with those that would be running at that time of day. */
export function* jobArrivals(options: ArrivalOptions): Generator<JobArrival, never, undefined> {
  const { random, timeOfDay } = options;
  const streams = streamsOf(options);
  for (const stream of streams) {
    const presentOf = presentAt(timeOfDay, stream);
    const present = Math.round(stream.jobs.reduce((sum, job) => sum + presentOf(job), 0));
    for (let job = 0; job < present; job++) {
      yield arrivalOf(stream, pick(stream.jobs, presentOf, random), seconds(0), options);
    }
  }
  const total = streams.reduce((sum, { rate }) => sum + rate, 0);
  let nextBatch = (1.5 * HOUR - (timeOfDay % HOUR)) % HOUR;
  for (let at = 0; ; ) {
    // Thinning: generates at the peak rate and drops a share of the jobs in other hours.
    at += -Math.log(1 - random.next()) / (total * PEAK);
    for (; nextBatch <= at; nextBatch += HOUR)
      for (const stream of streams) yield* batchOf(stream, seconds(nextBatch), options);
    const kept = random.next() * PEAK < shapeAt(seconds(timeOfDay + at));
    const stream = pick(streams, ({ rate }) => rate, random);
    if (kept)
      yield arrivalOf(
        stream,
        pick(stream.jobs, ({ weight }) => weight, random),
        seconds(at),
        options,
      );
  }
}

function* batchOf(stream: Stream, at: Seconds, options: ArrivalOptions): Generator<JobArrival> {
  const wanted = (options.batchShare ?? 0) * stream.capacity;
  const [kind] = stream.jobs;
  if (kind === undefined) return;
  for (let asked = 0; asked < wanted; ) {
    const job = arrivalOf(stream, kind, at, options);
    asked += job.gpus?.count ?? job.cores;
    yield job;
  }
}

const shapeAt = (timeOfDay: Seconds): number => DAY_SHAPE[Math.floor(timeOfDay / HOUR) % DAY_SHAPE.length] ?? 1;

/** Expected number of running jobs of a kind at a time of day, from the arrivals of each previous hour. */
function presentAt(timeOfDay: Seconds, { rate }: Stream): (job: JobKind) => number {
  const now = timeOfDay + DAY;
  return ({ weight, minutes }) => {
    const mean = minutes * 60;
    const leftOf = (at: number): number => Math.exp((at - now) / mean);
    let [present, until] = [0, now];
    while (until > timeOfDay) {
      // First the elapsed part of this hour, then whole hours back.
      const from = Math.ceil(until / HOUR - 1) * HOUR;
      present += shapeAt(seconds(from)) * mean * (leftOf(until) - leftOf(from));
      until = from;
    }
    return rate * weight * present;
  };
}

function streamsOf({ fleet, load }: ArrivalOptions): readonly Stream[] {
  const gpus = new Map<string, number>();
  let cores = 0;
  for (const spec of fleet) {
    if (spec.gpus === undefined) cores += spec.cores;
    else gpus.set(spec.gpus.resource, (gpus.get(spec.gpus.resource) ?? 0) + spec.gpus.count);
  }
  const made = [...gpus].map(([resource, count]) => streamOf(GPU_JOBS, load, count, resource));
  // GPU jobs first: in an empty cluster CPU jobs would take the cores of GPU nodes.
  return cores > 0 ? [...made, streamOf(CPU_JOBS, load, cores)] : made;
}

function streamOf(jobs: readonly JobKind[], load: number, capacity: number, resource?: string): Stream {
  const perJob = jobs.reduce((sum, { weight, sizes, minutes }) => sum + weight * meanOf(sizes) * minutes * 60, 0);
  const rate = (load * capacity) / perJob;
  return { jobs, capacity, rate, ...(resource !== undefined && { resource }) };
}

const meanOf = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0) / sizes.length;

function pick<Item>(items: readonly Item[], weightOf: (item: Item) => number, random: RandomSource): Item {
  let left = random.next() * items.reduce((sum, item) => sum + weightOf(item), 0);
  for (const item of items) {
    left -= weightOf(item);
    if (left < 0) return item;
  }
  return items.at(-1) as Item;
}

function arrivalOf({ resource }: Stream, job: JobKind, at: Seconds, options: ArrivalOptions): JobArrival {
  const { random, performanceShare } = options;
  const size = job.sizes[Math.floor(random.next() * job.sizes.length)] ?? 1;
  const mean = job.minutes * 60;
  const work = Math.min(MAX_MEANS * mean, Math.max(SHORTEST, -Math.log(1 - random.next()) * mean));
  return {
    at,
    kind: job.kind,
    cores: resource === undefined ? size : size * CORES_PER_GPU,
    ...(resource !== undefined && { gpus: { resource, count: size } }),
    work: seconds(Math.round(work)),
    performance: random.next() < performanceShare,
  };
}
