import type { NodePlan } from "../../../core/planning/index.ts";

/**
 * Writes that were sent but not confirmed, by node. They outlive the leader's term: a server that hung may still execute them
 * long after.
 */
export class PendingWrites {
  /** Eco caps, with the resourceVersion of the twin that they were sent for. The server rejects them for any other version. */
  readonly ecoCaps = new Map<string, string>();
  /** State transitions. A later plan shows whether they took place. */
  readonly transitions = new Map<string, NodePlan>();
}
