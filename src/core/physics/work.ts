import type { Seconds } from "../units/index.ts";

/** Parts of a job's time at full speed scale with the CPU clock and with the GPU clock, the rest with neither. */
export interface SimulatedJob {
  /** Identifies the job on its node. */
  readonly id: string;
  /** Allocated cores, and their utilisation (0–1). */
  readonly cores: number;
  readonly cpuUtil: number;
  /** Share of its time that scales with the CPU clock. */
  readonly cpuShare: number;
  /** Allocated boards, also fractions of one, and their utilisation (0–1). */
  readonly gpus?: number | undefined;
  readonly gpuUtil?: number | undefined;
  /** Share of its time that scales with the GPU clock. */
  readonly gpuShare?: number | undefined;
  /** Duration at full speed; Infinity for a service, which runs until it is stopped. */
  readonly work: Seconds;
}

/** The validated parameters of a job, computed once when it starts. */
export interface JobDemand {
  /** Number of busy cores. */
  readonly cpuLoad: number;
  readonly cpuShare: number;
  readonly gpus: number;
  readonly gpuUtil: number;
  readonly gpuShare: number;
  readonly work: number;
}

/** Larger counts are typing errors, and the product of two of them would be infinite. */
const MAX_COUNT = 1e9;
const count = (value: number | undefined): number =>
  value !== undefined && value > 0 ? Math.min(MAX_COUNT, value) : 0;
const share = (value: number | undefined): number => Math.min(1, count(value));

/** Negative and invalid values count as 0, and shares end at 1. Two shares that exceed 1 together are scaled to 1. */
export function jobDemandOf(job: SimulatedJob): JobDemand {
  const gpus = count(job.gpus);
  const cpuShare = share(job.cpuShare);
  const gpuShare = gpus > 0 ? share(job.gpuShare) : 0;
  const whole = Math.max(1, cpuShare + gpuShare);
  return {
    cpuLoad: count(job.cores) * share(job.cpuUtil),
    cpuShare: cpuShare / whole,
    gpus,
    gpuUtil: share(job.gpuUtil),
    gpuShare: gpuShare / whole,
    work: job.work > 0 ? job.work : 0,
  };
}

/**
 * Progress per second, 1 at full speed: 1/(c/f + 1 − c), with a term for each clock. The shares are separate parts of the
 * job's time, so the slowdowns of the two clocks add up, and neither clock can compensate for the other.
 */
export function progressRate({ cpuShare, gpuShare }: JobDemand, cpuClock: number, gpuClock: number): number {
  // A share of 0 does not depend on the clock, not even on a clock of 0.
  const cpu = cpuShare > 0 ? cpuShare * (1 / cpuClock - 1) : 0;
  const gpu = gpuShare > 0 ? gpuShare * (1 / gpuClock - 1) : 0;
  return 1 / (1 + cpu + gpu);
}

/** A type of job; `SimulatedJob` describes the parameters. */
export interface WorkKind {
  readonly name: string;
  readonly cpuUtil: number;
  readonly cpuShare: number;
  /** 0 for work without GPUs. */
  readonly gpuUtil: number;
  readonly gpuShare: number;
}

const cpuOnly = (name: string, cpuUtil: number, cpuShare: number): WorkKind => ({
  name,
  cpuUtil,
  cpuShare,
  gpuUtil: 0,
  gpuShare: 0,
});

/** docs/guides/model.md has the sources of the figures. */
export const WORK_KINDS = {
  /** CPU-bound computation that fits into the caches. */
  compute: cpuOnly("CPU, compute-bound", 0.95, 0.9),
  /** Request handling that mostly waits for other services. */
  service: cpuOnly("CPU, service", 0.4, 0.5),
  /** Scans and joins, bound by memory bandwidth. */
  analytics: cpuOnly("CPU, memory-bound", 0.75, 0.25),
  /** Fitted to the published pair of energy and time; not measured on a device. */
  training: {
    name: "GPU, training",
    cpuUtil: 0.3,
    cpuShare: 0.03,
    gpuUtil: 0.715,
    gpuShare: 0.45,
  },
  /** Dense matrix products, prefill of large batches. */
  dense: {
    name: "GPU, compute-bound",
    cpuUtil: 0.2,
    cpuShare: 0.02,
    gpuUtil: 0.95,
    gpuShare: 0.85,
  },
  /** Token generation, bound by memory bandwidth. */
  decode: {
    name: "GPU, decode",
    cpuUtil: 0.2,
    cpuShare: 0.05,
    gpuUtil: 0.45,
    gpuShare: 0.1,
  },
} as const satisfies Record<string, WorkKind>;
