import { jobsPerArrival, type Workload } from "./trace/generate.ts";
import { type Arrivals, type JobClass, PUBLISHED_NODES, publishedArrivals, publishedMix } from "./trace/mix.ts";

/**
 * Capacity shared by jobs. Cores are those of nodes without GPUs, because GPU jobs use the cores of their GPU nodes.
 */
export interface Capacity {
  readonly nodes: number;
  readonly cores: number;
  readonly gpus: number;
}

/**
 * The published job kinds at a rate that keeps this share of the cores and of the GPUs allocated on average. CPU and
 * GPU jobs each keep their mix. Bursts scale with the cluster size.
 */
export function workloadOfLoad(load: number, { nodes, cores, gpus }: Capacity, hours: number): Workload {
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
