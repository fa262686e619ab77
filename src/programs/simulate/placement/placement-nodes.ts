import type { MachineShape } from "./node-shape.ts";

/** What placement reads of the nodes, by index; whoever runs them keeps it true. */
export interface PlacementNodes {
  readonly count: number;
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  /** Watts each draws now. */
  readonly power: Float64Array;
  shape(node: number): MachineShape;
}
