import { type Watts, watts } from "../../../core/units/index.ts";

/** One kind of machine of the published experiment. */
export interface Shape {
  readonly cores: number;
  readonly cpuWatts: Watts;
  readonly gpus: number;
  readonly gpuWatts: Watts;
  readonly peakWatts: Watts;
}

/** Nodes by index, each of one shape. */
export interface Cluster {
  readonly shapes: readonly Shape[];
  /** The shape of each node, as an index into `shapes`. */
  readonly shapeOf: Uint8Array;
}

export const shape = (cores: number, cpuWatts: number, gpus: number): Shape => ({
  cores,
  cpuWatts: watts(cpuWatts),
  gpus,
  gpuWatts: watts(700),
  peakWatts: watts(cpuWatts + gpus * 700),
});

/** Four CPU nodes to one with eight GPUs, CPU nodes first: 2,000 and 500 in the published experiment. */
export function exp04Cluster(nodes = 2500): Cluster {
  const shapeOf = new Uint8Array(nodes);
  shapeOf.fill(1, Math.round(nodes * 0.8));
  return { shapes: [shape(96, 700, 0), shape(128, 500, 8)], shapeOf };
}
