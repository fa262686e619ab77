import type { WORK_KINDS } from "../../core/physics/index.ts";

/** A kind of job with its typical sizes and duration. */
export interface JobKind {
  readonly kind: keyof typeof WORK_KINDS;
  /** Share of the jobs in its stream. */
  readonly weight: number;
  /** Sizes with equal probability: cores, or boards for GPU jobs. */
  readonly sizes: readonly number[];
  /** Mean duration at full speed. */
  readonly minutes: number;
}

export const CPU_JOBS: readonly JobKind[] = [
  { kind: "compute", weight: 0.5, sizes: [8, 16, 32, 64], minutes: 15 },
  { kind: "analytics", weight: 0.3, sizes: [16, 32, 64], minutes: 25 },
  { kind: "service", weight: 0.2, sizes: [4, 8, 16], minutes: 30 },
];

export const GPU_JOBS: readonly JobKind[] = [
  { kind: "training", weight: 0.4, sizes: [1, 2, 4], minutes: 40 },
  { kind: "dense", weight: 0.3, sizes: [1, 2], minutes: 10 },
  { kind: "decode", weight: 0.3, sizes: [1], minutes: 30 },
];

/** Cores requested per GPU. */
export const CORES_PER_GPU = 6;

/** Relative arrival rate for each hour of the day (UTC), with mean 1: low at night, high during working hours. */
export const DAY_SHAPE: readonly number[] = normalised([
  0.5, 0.45, 0.42, 0.42, 0.45, 0.55, 0.75, 1, 1.3, 1.5, 1.6, 1.6, 1.5, 1.55, 1.6, 1.6, 1.5, 1.4, 0.6, 0.58, 0.56, 0.54,
  0.52, 0.5,
]);

function normalised(hours: readonly number[]): readonly number[] {
  const mean = hours.reduce((sum, hour) => sum + hour, 0) / hours.length;
  return hours.map((hour) => hour / mean);
}
