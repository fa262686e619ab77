import type { MachineShape } from "../placement/node-shape.ts";
import { gpuShare, WORK_SHARE } from "../placement/power.ts";

/** Shares of CPU watts: of an empty node, and of a busy node before any work. */
export const EMPTY_SHARE = 0.05;
export const BUSY_SHARE = 0.1;
/** Power of an unallocated GPU. */
export const FREE_GPU_WATTS = 100;

/** Power of one running job. */
export const cpuWattsOf = (shape: MachineShape, cores: number, util: number): number =>
  shape.cpuWatts * WORK_SHARE * (cores / shape.cores) * util;
export const gpuWattsOf = (shape: MachineShape, gpus: number, performance: boolean, util: number): number =>
  gpus * shape.gpuWatts * gpuShare(performance) * util;
