import { isAwake } from "../api/index.ts";
import { type DemandView, demandViewOf, type QueuedPools, queuedPools } from "../demand/index.ts";
import type { FitResult } from "../policy/index.ts";
import type { SleepPlan } from "../sleep/index.ts";
import type { Instant } from "../units/index.ts";
import { assignProfiles } from "./assigned-profiles.ts";
import { type Leftovers, leftoversIn } from "./leftovers.ts";
import { managedNodesIn } from "./managed-node.ts";
import type { NodePlan, NodeTarget } from "./node-plan.ts";
import { nodeTargetFor } from "./node-target.ts";
import type { PlanningInput } from "./planning-input.ts";
import type { PlanningMemory } from "./planning-memory.ts";
import { sleepPlanOf, wantedPowerOf } from "./sleep.ts";
import { withTwinStatus } from "./twin-status.ts";

export interface ClusterPlan {
  readonly at: Instant;
  readonly hpCount: number;
  readonly demand: DemandView;
  /** Pools in which pods wait: ECO_MAX_SLOWDOWN_PCT is halved there. */
  readonly queued: QueuedPools;
  /** With fit_aware_v1: what it found for pending performance pods. */
  readonly fit?: FitResult | undefined;
  /** Absent if sleep is off, or nothing could be decided. */
  readonly sleep?: SleepPlan | undefined;
  /** Whether the snapshot's pods are current. If not, no node is downgraded. */
  readonly current: boolean;
  readonly nodes: ReadonlyMap<string, NodePlan>;
  /** Objects and labels to remove, by node: of nodes that were deleted or are no longer managed. */
  readonly leftovers: ReadonlyMap<string, Leftovers>;
  /** For the next pass. */
  readonly memory: PlanningMemory;
}

/**
 * One planning pass: from a snapshot of the cluster to the desired spec, status and labels of every managed node, with the
 * reasons. `joulie operator` and `joulie simulate` both call it. The plan depends on the input alone, and the input is not changed.
 */
export function planCluster(input: PlanningInput): ClusterPlan {
  const { snapshot, settings, memory, now } = input;
  const { current } = snapshot;
  // Demand: performance-sensitive pods, in the cluster and by node, and pods that wait.
  const demand = demandViewOf(snapshot.pods());
  const queued = queuedPools(demand.waits, now);
  // Inventory: managed nodes with their hardware, eligibility, caps and pin.
  const managed = managedNodesIn(input, queued);
  // Sleep: the nodes that are needed awake. A node that sleeps is no supply for profiles and keeps its last target.
  const sleep = sleepPlanOf(managed, input);
  const powers = managed.map(({ name }) => wantedPowerOf(name, sleep?.plan, input));
  const asleep = managed.map(
    ({ name }, index) => powers[index]?.state === "off" || !isAwake(snapshot.twin(name)?.status),
  );
  // Policy: a profile for every eligible node.
  const profiles = assignProfiles(managed, demand.performancePods, asleep, input);
  // Guard and target: the state that each node may change to now, and its spec and labels.
  const targets: NodeTarget[] = [];
  for (const [index, node] of managed.entries()) {
    const power = { wanted: powers[index], asleep: asleep[index] === true };
    const performancePods = current ? (demand.performancePodsByNode.get(node.name) ?? 0) : undefined;
    const target = nodeTargetFor(node, profiles.byName.get(node.name), performancePods, power, input);
    if (target !== undefined) targets.push(target);
  }
  // Twin: the status of each node under its target.
  const { plans: nodes, power } = withTwinStatus(targets, profiles, input);
  return {
    at: now,
    hpCount: profiles.hpCount,
    demand,
    queued,
    fit: profiles.fit,
    sleep: sleep?.plan,
    current,
    nodes,
    leftovers: leftoversIn(snapshot, settings, nodes),
    memory: { power, sleep: sleep?.memory ?? memory.sleep },
  };
}
