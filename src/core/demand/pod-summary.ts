import type { Pod } from "../api/index.ts";
import { type PowerConstraint, powerConstraintOf } from "./constraint.ts";
import { demandOf, type PodDemand } from "./pod-demand.ts";
import { itemsOf, specOf } from "./pod-parts.ts";
import { type WorkloadClass, workloadClassOf } from "./workload-class.ts";

/**
 * All that decisions want to know of a pod, worked out once per version of it: reading constraints and quantities costs
 * microseconds, and a pass looks at every pod there is.
 */
export interface PodSummary {
  /** The node it is bound to. */
  readonly node: string | undefined;
  /**
   * Not finished. A pending pod is active: it is what the queue is made of. So is one bound but not yet running, which is about
   * to need its node, and one terminating, which may still need it for its whole grace period. A pod with scheduling gates is
   * not: nobody knows when it will join the queue.
   */
  readonly active: boolean;
  readonly constraint: PowerConstraint;
  readonly workloadClass: WorkloadClass;
  /** The class annotation's text where it names no class, for a caller to warn about once. */
  readonly unrecognisedClass?: string;
  /** The annotation says so, or the constraints exclude eco. The extender's filter goes by the annotation alone. */
  readonly performanceSensitive: boolean;
  readonly demand: PodDemand;
}

export function podSummaryOf(pod: Pod, powerProfileLabel?: string): PodSummary {
  if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") return finished;
  const { workloadClass, unrecognised } = workloadClassOf(pod);
  const constraint = powerConstraintOf(pod, powerProfileLabel);
  const { nodeName, schedulingGates } = specOf(pod);
  const node = nodeName === "" ? undefined : nodeName;
  return {
    node,
    active: node !== undefined || itemsOf(schedulingGates).length === 0,
    constraint,
    workloadClass,
    ...(unrecognised !== undefined && { unrecognisedClass: unrecognised }),
    performanceSensitive: workloadClass === "performance" || constraint === "performance-only",
    demand: demandOf(pod),
  };
}

/** It asks for nothing any more, wherever it ran. */
const finished: PodSummary = {
  node: undefined,
  active: false,
  constraint: "general",
  workloadClass: "standard",
  performanceSensitive: false,
  demand: { cpuCores: 0, gpus: new Map(), unreadable: [] },
};
