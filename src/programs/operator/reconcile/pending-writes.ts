import type { NodePlan } from "../../../core/planning/index.ts";

/**
 * What was sent and not confirmed, by node. It outlives the term it was sent in: a server that stood still may take it in long
 * after.
 */
export interface PendingWrites {
  /** Eco caps, and the version of the twin they were sent for: over another one they do not come. */
  readonly ecoCaps: Map<string, string>;
  /** Changes of state: whether they have happened is seen later. */
  readonly transitions: Map<string, NodePlan>;
}
