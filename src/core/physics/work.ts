import type { Seconds } from "../units/index.ts";

/**
 * What a job asks of a node. Its time at full speed falls into three shares: one that waits for the CPU's clock, one that
 * waits for the GPU's, and the rest, which waits for memory, network and disks and does not care about either.
 */
export interface SimulatedJob {
  /** What tells it from the node's other jobs. */
  readonly id: string;
  /** Cores it holds, and how busy it keeps them (0–1). */
  readonly cores: number;
  readonly cpuUtil: number;
  /** Share of its time that waits for the CPU's clock. */
  readonly cpuShare: number;
  /** Boards it holds, also a part of one, and how hard it drives them (0–1). */
  readonly gpus?: number | undefined;
  readonly gpuUtil?: number | undefined;
  /** Share of its time that waits for the GPU's clock. */
  readonly gpuShare?: number | undefined;
  /** How long it takes at full speed; Infinity for a service, which ends when it is stopped. */
  readonly work: Seconds;
}

/** A job's figures, made fit to reckon with once, when it starts. */
export interface JobDemand {
  /** Cores kept busy. */
  readonly cpuLoad: number;
  readonly cpuShare: number;
  readonly gpus: number;
  readonly gpuUtil: number;
  readonly gpuShare: number;
  readonly work: number;
}

/** Larger counts are typing errors, and products of two of them would be infinite. */
const MOST = 1e9;
const count = (value: number | undefined): number => (value !== undefined && value > 0 ? Math.min(MOST, value) : 0);
const share = (value: number | undefined): number => Math.min(1, count(value));

/** What is negative or no number is nothing, and shares end at 1; two shares that are more than the whole are scaled to it. */
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
 * Progress per second, 1 at full speed: 1/(c/f + 1 − c), with a term for each clock. The shares are spans of one job's
 * time, so what the two clocks cost adds up: with one share only it is the plain law, and neither clock can make up for
 * the other.
 */
export function progressRate({ cpuShare, gpuShare }: JobDemand, cpuClock: number, gpuClock: number): number {
  // A share of nothing waits for no clock, not even for one that stands still.
  const cpu = cpuShare > 0 ? cpuShare * (1 / cpuClock - 1) : 0;
  const gpu = gpuShare > 0 ? gpuShare * (1 / gpuClock - 1) : 0;
  return 1 / (1 + cpu + gpu);
}
