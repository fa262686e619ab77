import type { Pod } from "../api/index.ts";
import { type PowerConstraint, powerConstraintOf } from "./constraint.ts";
import { countsOnNode, isActive, isPerformanceSensitive } from "./performance-sensitive.ts";

/** What the active pods of a cluster ask of its power. */
export interface DemandView {
  readonly constraints: Readonly<Record<PowerConstraint, number>>;
  /** Performance-sensitive pods cluster-wide, pending ones included: the P of queue_aware_v1. */
  readonly performancePods: number;
  /** Performance-sensitive pods by the node they are bound to: what the downgrade guard counts. Absent is none. */
  readonly performancePodsByNode: ReadonlyMap<string, number>;
}

export function demandViewOf(pods: Iterable<Pod>, powerProfileLabel?: string): DemandView {
  const constraints: Record<PowerConstraint, number> = { "performance-only": 0, "eco-only": 0, general: 0 };
  const performancePodsByNode = new Map<string, number>();
  let performancePods = 0;
  for (const pod of pods) {
    if (!isActive(pod)) continue;
    constraints[powerConstraintOf(pod, powerProfileLabel)]++;
    if (!isPerformanceSensitive(pod, powerProfileLabel)) continue;
    performancePods++;
    if (!countsOnNode(pod)) continue;
    const { nodeName } = pod.spec;
    performancePodsByNode.set(nodeName, (performancePodsByNode.get(nodeName) ?? 0) + 1);
  }
  return { constraints, performancePods, performancePodsByNode };
}
