import type { NodeRoom } from "../fit/index.ts";
import type { Watts } from "../units/index.ts";

/** What fit_aware_v1 knows about a node besides a `PlanNode`. Its labels are those that the node has at performance. */
export interface NodeFit extends NodeRoom {
  /** The node publishes performance now. */
  readonly performance: boolean;
  /** Watts that the caps of performance allow beyond the eco caps. */
  readonly liftedWatts: { readonly cpu: Watts; readonly gpu: Watts };
}
