import type { Labels, Node, NodeTaint, Pod } from "../../../core/api/index.ts";
import {
  allocatableOf,
  fitRequests,
  type NodeConstraint,
  nodeConstraintOf,
  type ResourceTotals,
} from "../../../core/demand/index.ts";
import { type KubeResources, kubeResources } from "../../../core/scoring/index.ts";
import { type KubeObject, keyOf } from "../../kube/index.ts";

export interface SchedulerPod {
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly nodeName: string | undefined;
  /** False for terminated pods, which use no resources. */
  readonly active: boolean;
  readonly requests: ResourceTotals;
  /** The whole pod while it is unscheduled, for the extenders. */
  readonly waiting: WaitingPod | undefined;
}

interface WaitingPod {
  readonly object: KubeObject;
  readonly constraint: NodeConstraint;
  readonly priority: number;
  /** Equal for pods with equal scheduling requirements. */
  readonly shape: string;
}

export function podViewOf(given: KubeObject, schedulerName: string): SchedulerPod {
  const pod = given as KubeObject & Pod;
  const { name, namespace = "", uid = "", deletionTimestamp } = pod.metadata;
  const { nodeName = "", schedulingGates = [], priority = 0 } = pod.spec;
  const active = pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed";
  const ours = (pod.spec.schedulerName ?? "default-scheduler") === schedulerName;
  const waits = nodeName === "" && active && ours && deletionTimestamp === undefined && schedulingGates.length === 0;
  const requests = fitRequests(pod);
  const waitingPod = (): WaitingPod => {
    const constraint = nodeConstraintOf(pod);
    return { object: pod, constraint, priority, shape: JSON.stringify([[...requests], constraint]) };
  };
  return {
    key: keyOf(pod.metadata),
    name,
    namespace,
    uid,
    nodeName: nodeName === "" ? undefined : nodeName,
    active,
    requests,
    waiting: waits ? waitingPod() : undefined,
  };
}

export interface SchedulerNode {
  readonly name: string;
  readonly labels: Labels;
  readonly taints: readonly NodeTaint[];
  readonly unschedulable: boolean;
  readonly allocatable: ResourceTotals;
  /** The part of `allocatable` that counts for the scores. */
  readonly scored: KubeResources;
  /** The whole node; set only when an extender needs it. */
  readonly object: KubeObject | undefined;
}

export function nodeViewOf(given: KubeObject, keepObject: boolean): SchedulerNode {
  const { metadata, spec } = given as KubeObject & Node;
  // As the API server does, allocatable defaults to capacity.
  const allocatable = allocatableOf(given as KubeObject & Node);
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    unschedulable: spec?.unschedulable === true,
    allocatable,
    scored: kubeResources(allocatable),
    object: keepObject ? given : undefined,
  };
}

/** Whether a node change may make an unschedulable pod fit. Heartbeats do not. */
export function mayAcceptMorePods(before: SchedulerNode, after: SchedulerNode): boolean {
  const shape = ({ labels, taints, unschedulable, allocatable }: SchedulerNode) =>
    JSON.stringify([Object.entries(labels).toSorted(byKey), taints, unschedulable, [...allocatable].toSorted(byKey)]);
  return shape(before) !== shape(after);
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;
