import type { Pod } from "../api/index.ts";
import { type PowerConstraint, powerConstraintOf } from "./constraint.ts";
import { demandOf, type PodDemand } from "./pod-demand.ts";
import { itemsOf, specOf } from "./pod-parts.ts";
import { type WorkloadClass, workloadClassOf } from "./workload-class.ts";

/**
 * Everything that planning needs to know about a pod. It is computed once per version of the pod, because parsing
 * constraints and quantities costs microseconds and a pass looks at every pod.
 */
export interface PodSummary {
  /** The node that the pod is bound to. */
  readonly node: string | undefined;
  /**
   * The pod is not finished. Pending pods are active, because they form the queue. So are pods that are bound but not yet
   * running, and terminating pods, which may need their node for the whole grace period. Pods with scheduling gates are not
   * active, because it is unknown when they will join the queue.
   */
  readonly active: boolean;
  readonly constraint: PowerConstraint;
  readonly workloadClass: WorkloadClass;
  /** The text of an invalid class annotation, so that the caller can warn about it once. */
  readonly unrecognisedClass?: string;
  /** The class annotation says performance, or the constraints exclude eco. The extender's filter uses only the annotation. */
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

/** A finished pod needs nothing. */
const finished: PodSummary = {
  node: undefined,
  active: false,
  constraint: "general",
  workloadClass: "standard",
  performanceSensitive: false,
  demand: { cpuCores: 0, gpus: new Map(), unreadable: [] },
};
