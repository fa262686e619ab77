import type { MachineShape } from "./node-shape.ts";

/** Node data for placement, by node index. The simulation keeps it current. */
export interface PlacementNodes {
  readonly count: number;
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  /** Current power in watts. */
  readonly power: Float64Array;
  shape(node: number): MachineShape;
}
