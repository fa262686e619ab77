import type { PowerConstraint } from "./constraint.ts";
import type { PodSummary } from "./pod-summary.ts";
import { type PoolWaits, WaitRecorder } from "./pool-waits.ts";

/** The power demand of the active pods of a cluster. */
export interface DemandView {
  readonly constraints: Readonly<Record<PowerConstraint, number>>;
  /** Performance-sensitive pods in the cluster, including pending ones: the P of queue_aware_v1. */
  readonly performancePods: number;
  /** Performance-sensitive pods by node, as the downgrade guard counts them. Absent means none. */
  readonly performancePodsByNode: ReadonlyMap<string, number>;
  /** How long pods wait for nodes. */
  readonly waits: PoolWaits;
}

export function demandViewOf(pods: Iterable<PodSummary>): DemandView {
  const constraints: Record<PowerConstraint, number> = { "performance-only": 0, "eco-only": 0, general: 0 };
  const performancePodsByNode = new Map<string, number>();
  const recorder = new WaitRecorder();
  let performancePods = 0;
  for (const pod of pods) {
    const { active, constraint, performanceSensitive, node } = pod;
    if (!active) continue;
    recorder.add(pod);
    constraints[constraint]++;
    if (!performanceSensitive) continue;
    performancePods++;
    if (node !== undefined) performancePodsByNode.set(node, (performancePodsByNode.get(node) ?? 0) + 1);
  }
  return { constraints, performancePods, performancePodsByNode, waits: recorder.waits };
}

/** The active pods of each node. */
export function podsByNode(pods: Iterable<PodSummary>): ReadonlyMap<string, readonly PodSummary[]> {
  const byNode = new Map<string, PodSummary[]>();
  for (const pod of pods) {
    if (!pod.active || pod.node === undefined) continue;
    const there = byNode.get(pod.node);
    if (there === undefined) byNode.set(pod.node, [pod]);
    else there.push(pod);
  }
  return byNode;
}
