import type { NodePlan } from "../../../core/planning/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { OperatorSettings } from "../settings.ts";
import { diffNode, type NodeDiff } from "./diff.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { WriteFailures } from "./write-failures.ts";

export interface NodeDifferOptions {
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly clock: Clock;
  readonly heartbeats: Heartbeats;
  readonly failures: WriteFailures;
}

/** Compares a plan with the cluster as it is now, including the due heartbeat and the last write failure of the node. */
export class NodeDiffer {
  readonly #options: NodeDifferOptions;

  constructor(options: NodeDifferOptions) {
    this.#options = options;
  }

  diff(plan: NodePlan): NodeDiff {
    const { state, settings, clock, heartbeats, failures } = this.#options;
    const now = clock.now();
    const lastUpdated = state.twin(plan.name)?.status?.lastUpdated ?? "";
    const heartbeatDue = heartbeats.isDue(plan.name, lastUpdated, now);
    return diffNode(plan, state, { now, settings, heartbeatDue, failure: failures.reportable(plan.name) });
  }
}
