import { type MachineShape, nodeShape } from "../placement/node-shape.ts";
import { PUBLISHED_NODES } from "../trace/mix.ts";

/** Nodes by index, each of one shape. */
export interface Cluster {
  readonly shapes: readonly MachineShape[];
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
