export const PUBLISHED_NODES = 2500;

/** A class of jobs. Ranges are uniform and choices equally likely. */
export interface JobClass {
  readonly about: string;
  readonly share: number;
  readonly cores: readonly number[];
  readonly gpus: readonly number[];
  /** Share of performance jobs. */
  readonly performance: number;
  readonly cpuUtil: readonly [number, number];
  readonly gpuUtil: readonly [number, number];
  readonly durationSec: readonly [number, number];
}

/** Measured on the first 8 hours of the published seed 42: 147,069 jobs; shares are accurate to half a percent. */
export const publishedMix: readonly JobClass[] = [
  {
    about: "small CPU jobs",
    share: 0.35,
    cores: [1, 2, 4, 8],
    gpus: [0],
    performance: 0,
    cpuUtil: [0.3, 0.8],
    gpuUtil: [0, 0],
    durationSec: [60, 600],
  },
  {
    about: "data preparation",
    share: 0.2,
    cores: [16, 32, 48, 64],
    gpus: [0],
    performance: 0.29,
    cpuUtil: [0.4, 0.9],
    gpuUtil: [0, 0],
    durationSec: [300, 3600],
  },
  {
    about: "simulation on whole nodes",
    share: 0.08,
    cores: [64, 96],
    gpus: [0],
    performance: 1,
    cpuUtil: [0.5, 0.95],
    gpuUtil: [0, 0],
    durationSec: [1800, 7200],
  },
  {
    about: "training",
    share: 0.25,
    cores: [16, 32, 64],
    gpus: [1, 2, 4, 8],
    performance: 1,
    cpuUtil: [0.3, 0.6],
    gpuUtil: [0.6, 0.95],
    durationSec: [3600, 28_800],
  },
  {
    about: "GPU trials",
    share: 0.12,
    cores: [4, 8, 16],
    gpus: [1, 2],
    performance: 0,
    cpuUtil: [0.3, 0.6],
    gpuUtil: [0.3, 0.7],
    durationSec: [60, 900],
  },
];

/** Arrival process: single jobs and bursts, with a periodic rate. */
export interface Arrivals {
  readonly perHour: number;
  /** The rate is perHour·(1 + swing·cos(2π·t/period)). */
  readonly swing: number;
  readonly periodSec: number;
  readonly burstShare: number;
  readonly burstSize: readonly [number, number];
}

/** Measured on the same 8 hours: 11,626 arrivals, 1,110 of them bursts. */
export const publishedArrivals: Arrivals = {
  perHour: 1453,
  swing: 0.25,
  periodSec: 8 * 3600,
  burstShare: 0.0955,
  burstSize: [50, 200],
};
