import type { Labels, NodeTaint } from "../api/index.ts";
import type { ResourceTotals } from "../demand/index.ts";

/** What decides whether a pod fits on a node, besides the pods that are there. */
export interface NodeRoom {
  /** The labels that constraints of pods refer to. */
  readonly labels: Labels;
  /** Labels that the node may have soon as well, such as those of another profile. */
  readonly otherLabels?: Labels | undefined;
  readonly taints: readonly NodeTaint[];
  readonly allocatable: ResourceTotals;
  /** GPUs of all kinds in `allocatable`. */
  readonly gpus: number;
}

/** A node in a `FitTable`. Without `fit` it takes no pod. */
export interface FitNode {
  readonly name: string;
  readonly fit?: NodeRoom | undefined;
}
