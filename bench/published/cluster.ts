import type { TraceWorkload } from "../../src/programs/simulate/trace/generate.ts";
import { PUBLISHED_NODES, publishedArrivals, publishedMix } from "../../src/programs/simulate/trace/mix.ts";
import { gpuShare, nodeShape, type PublishedShape, WORK_SHARE } from "./node-shape.ts";

/** The experiment has steps of one minute. */
export const STEP_SEC = 60;

/** Nodes by index, each of one shape. */
export interface Cluster {
  readonly shapes: readonly PublishedShape[];
  /** Index into `shapes` for each node. */
  readonly shapeOf: Uint8Array;
}

const BOARD_WATTS = 700;

/** Four CPU nodes per node with eight GPUs, CPU nodes first: 2,000 and 500 in the published experiment. */
export function exp04Cluster(nodes = PUBLISHED_NODES): Cluster {
  const places = new Uint8Array(nodes);
  places.fill(1, Math.round(nodes * 0.8));
  return { shapes: [nodeShape(96, 700, 0, BOARD_WATTS), nodeShape(128, 500, 8, BOARD_WATTS)], shapeOf: places };
}

/** The published arrival rate, scaled to the number of nodes. It exceeds the GPU capacity by far. */
export const publishedWorkload = (nodes: number, hours: number): TraceWorkload => ({
  mix: publishedMix,
  arrivals: { ...publishedArrivals, perHour: (publishedArrivals.perHour * nodes) / PUBLISHED_NODES },
  hours,
});

/** Shares of CPU watts: of an empty node, and of a busy node before any work. */
export const EMPTY_SHARE = 0.05;
export const BUSY_SHARE = 0.1;
/** Power of an unallocated GPU. */
export const FREE_GPU_WATTS = 100;

/** Power of one running job. */
export const cpuWattsOf = (shape: PublishedShape, cores: number, util: number): number =>
  shape.cpuWatts * WORK_SHARE * (cores / shape.cores) * util;
export const gpuWattsOf = (shape: PublishedShape, gpus: number, performance: boolean, util: number): number =>
  gpus * shape.gpuWatts * gpuShare(performance) * util;
