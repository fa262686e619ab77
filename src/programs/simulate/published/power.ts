import type { MachineShape } from "../placement/node-shape.ts";
import { gpuShare, WORK_SHARE } from "../placement/power.ts";

/** Shares of a CPU's watts: an empty node's, and a busy node's before any work. */
export const EMPTY_SHARE = 0.05;
export const BUSY_SHARE = 0.1;
/** A GPU that nobody has. */
export const FREE_GPU_WATTS = 100;

/** What one running job draws. */
export const cpuWattsOf = (shape: MachineShape, cores: number, util: number): number =>
  shape.cpuWatts * WORK_SHARE * (cores / shape.cores) * util;
export const gpuWattsOf = (shape: MachineShape, gpus: number, performance: boolean, util: number): number =>
  gpus * shape.gpuWatts * gpuShare(performance) * util;
