import type { Shape } from "./cluster.ts";

/** Shares of a CPU's watts: an empty node's, a busy node's before any work, and what all its cores add at full use. */
export const EMPTY_SHARE = 0.05;
export const BUSY_SHARE = 0.1;
const WORK_SHARE = 0.7;
/** A GPU that nobody has. */
export const FREE_GPU_WATTS = 100;
const gpuShare = (performance: boolean): number => (performance ? 0.85 : 0.65);

/** What one running job draws. */
export const cpuWattsOf = (shape: Shape, cores: number, util: number): number =>
  shape.cpuWatts * WORK_SHARE * (cores / shape.cores) * util;
export const gpuWattsOf = (shape: Shape, gpus: number, performance: boolean, util: number): number =>
  gpus * shape.gpuWatts * gpuShare(performance) * util;

/** What a scheduler expects a job to add: it knows the request, not how busy it will be. */
export function marginalWatts(shape: Shape, cores: number, gpus: number, performance: boolean): number {
  const cpu = shape.cpuWatts * WORK_SHARE * Math.min(1, cores / shape.cores);
  return shape.gpus > 0 ? cpu + gpus * shape.gpuWatts * gpuShare(performance) : cpu;
}
