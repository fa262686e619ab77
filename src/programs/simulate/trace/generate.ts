import type { RandomSource } from "../../../core/units/index.ts";
import { type Arrivals, type JobClass, PUBLISHED_NODES, publishedArrivals, publishedMix } from "./mix.ts";
import { type JobRow, MAX_JOBS, type Trace, TraceBuilder } from "./trace.ts";

export interface TraceWorkload {
  readonly mix: readonly JobClass[];
  readonly arrivals: Arrivals;
  readonly hours: number;
}

export const expectedJobs = ({ arrivals, hours }: TraceWorkload): number =>
  hours * arrivals.perHour * jobsPerArrival(arrivals);

/** Generates a trace; the same random source gives the same jobs. */
export function generateTrace(workload: TraceWorkload, random: RandomSource): Trace {
  const { mix, arrivals, hours } = workload;
  const jobs = new TraceBuilder();
  const { perHour, swing, periodSec, burstShare, burstSize } = arrivals;
  const expected = expectedJobs(workload);
  if (!(expected <= MAX_JOBS))
    throw new RangeError(`about ${expected} jobs are above ${MAX_JOBS}; ask for fewer hours`);
  // Thinning: generates arrivals at the peak rate and accepts each with the ratio of current to peak rate.
  const highest = (perHour / 3600) * (1 + Math.abs(swing));
  const end = hours * 3600;
  for (let at = gap(highest, random); at < end; at += gap(highest, random)) {
    const rate = (perHour / 3600) * (1 + swing * Math.cos((2 * Math.PI * at) / periodSec));
    if (random.next() * highest >= rate) continue;
    const size = random.next() < burstShare ? wholeBetween(burstSize, random) : 1;
    for (let i = 0; i < size; i++) jobs.add(jobOf(chosen(mix, random), at, random));
  }
  return jobs.build();
}

const jobsPerArrival = ({ burstShare, burstSize: [least, most] }: Arrivals): number =>
  1 - burstShare + (burstShare * (least + most)) / 2;

const gap = (rate: number, random: RandomSource): number => -Math.log(1 - random.next()) / rate;

function chosen(mix: readonly JobClass[], random: RandomSource): JobClass {
  let left = random.next() * mix.reduce((sum, { share }) => sum + share, 0);
  const found = mix.find(({ share }) => (left -= share) < 0) ?? mix.at(-1);
  if (found === undefined) throw new RangeError("a workload needs at least one class of jobs");
  return found;
}

function jobOf(jobClass: JobClass, submitSec: number, random: RandomSource): JobRow {
  return {
    submitSec,
    cores: oneOf(jobClass.cores, random),
    gpus: oneOf(jobClass.gpus, random),
    performance: random.next() < jobClass.performance,
    cpuUtil: between(jobClass.cpuUtil, random),
    gpuUtil: between(jobClass.gpuUtil, random),
    durationSec: between(jobClass.durationSec, random),
  };
}

const between = ([low, high]: readonly [number, number], random: RandomSource): number =>
  low + (high - low) * random.next();
const wholeBetween = ([low, high]: readonly [number, number], random: RandomSource): number =>
  low + Math.floor((high - low + 1) * random.next());
const oneOf = (values: readonly number[], random: RandomSource): number =>
  values[Math.floor(random.next() * values.length)] ?? 0;

/** Cores are those of nodes without GPUs, because GPU jobs use those of their GPU nodes. */
export interface Capacity {
  readonly nodes: number;
  readonly cores: number;
  readonly gpus: number;
}

/** The published kinds of jobs at a rate that keeps this share allocated on average. Bursts scale with the cluster. */
export function workloadOfLoad(load: number, { nodes, cores, gpus }: Capacity, hours: number): TraceWorkload {
  const cpuJobs = publishedMix.filter((job) => meanOf(job.gpus) === 0);
  const gpuJobs = publishedMix.filter((job) => meanOf(job.gpus) > 0);
  const cpuRate = (load * cores) / perJob(cpuJobs, ({ cores: asked }) => meanOf(asked));
  const gpuRate = (load * gpus) / perJob(gpuJobs, ({ gpus: asked }) => meanOf(asked));
  const rate = cpuRate + gpuRate;
  const scale = nodes / PUBLISHED_NODES;
  const [least, most] = publishedArrivals.burstSize;
  const burstSize: Arrivals["burstSize"] = [
    Math.max(2, Math.round(least * scale)),
    Math.max(2, Math.round(most * scale)),
  ];
  const arrivals = { ...publishedArrivals, burstSize };
  return {
    mix: [...sharing(cpuJobs, cpuRate / rate), ...sharing(gpuJobs, gpuRate / rate)],
    arrivals: { ...arrivals, perHour: (rate * 3600) / jobsPerArrival(arrivals) },
    hours,
  };
}

/** Average resource-seconds per job of these classes. */
function perJob(classes: readonly JobClass[], asked: (job: JobClass) => number): number {
  const whole = classes.reduce((sum, { share }) => sum + share, 0);
  return classes.reduce((sum, job) => sum + (job.share / whole) * asked(job) * meanOf(job.durationSec), 0);
}

function sharing(classes: readonly JobClass[], share: number): JobClass[] {
  const whole = classes.reduce((sum, job) => sum + job.share, 0);
  return classes.map((job) => ({ ...job, share: (job.share / whole) * share }));
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
