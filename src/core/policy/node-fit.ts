import type { Labels, NodeTaint } from "../api/index.ts";
import type { ResourceTotals } from "../demand/index.ts";
import type { Watts } from "../units/index.ts";

/** What fit_aware_v1 knows about a node besides a `PlanNode`. */
export interface NodeFit {
  /** The labels that the node has at performance: constraints may refer to them. */
  readonly labels: Labels;
  readonly taints: readonly NodeTaint[];
  readonly allocatable: ResourceTotals;
  /** GPUs of all kinds in `allocatable`. */
  readonly gpus: number;
  /** The node publishes performance now. */
  readonly performance: boolean;
  /** Watts that the caps of performance allow beyond the eco caps. */
  readonly liftedWatts: { readonly cpu: Watts; readonly gpu: Watts };
}
