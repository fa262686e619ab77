import type { Pod } from "../api/index.ts";
import { type Instant, milliseconds, parseInstant } from "../units/index.ts";
import { type PowerConstraint, powerConstraintOf } from "./constraint.ts";
import type { NodeConstraint } from "./node-constraint.ts";
import { type PodPromise, podPromiseOf } from "./occupied-nodes.ts";
import { type WorkloadClass, workloadClassOf } from "./pod-annotations.ts";
import { demandOf, type PodDemand } from "./pod-demand.ts";
import { isControlPlanePod, isFinished, isOfNode } from "./pod-loss.ts";
import { itemsOf, specOf } from "./pod-parts.ts";
import type { PodRequests, PodShapes } from "./pod-shapes.ts";

/** What planning needs to know about a pod, computed once per version of the pod: a pass looks at every pod. */
export interface PodSummary {
  /** The node that the pod is bound to. */
  readonly node: string | undefined;
  /** Where a pod without a node will run, as far as its scheduler has decided. */
  readonly promise?: PodPromise;
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
  /** The pod belongs to its node: it is of a DaemonSet, or mirrors a static pod. It comes back with the node. */
  readonly ofNode?: true;
  /** The pod's scheduler, if it is not the default one. */
  readonly scheduler?: string;
  /** The pod is a static pod of the control plane, so that the node must not be switched off. */
  readonly controlPlane?: true;
  /** The pod serves the node's disks to other nodes, so that the node must not be switched off. */
  readonly servesStorage?: true;
  /** The rest is present only if `podSummaryOf` was given shapes. */
  readonly requests?: PodRequests;
  /** The nodes that the pod may run on: of performance-sensitive pods, or of all if the shapes say so. */
  readonly nodes?: NodeConstraint;
  /** Of pending pods that are performance-sensitive, or of all if the shapes say so. */
  readonly reference?: PodReference;
  /** Of pods with a `reference`; absent means 0. */
  readonly priority?: number;
  /** When the pod was created: of pending pods and of pods with `nodes`, finished ones included. */
  readonly createdAt?: Instant;
  /** When the pod was bound, if it had waited for a node for `QUEUED_AFTER`. */
  readonly waitedUntil?: Instant;
}

export interface PodReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Every pod waits for a moment. One that still has no node after this time waits in a queue. */
export const QUEUED_AFTER = milliseconds(30_000);

const DEFAULT_SCHEDULER = "default-scheduler";

/** Whether one of these schedulers places the pod; undefined stands for all. */
export const isPlacedBy = (
  schedulers: readonly string[] | undefined,
  { scheduler = DEFAULT_SCHEDULER }: Pick<PodSummary, "scheduler">,
): boolean => schedulers === undefined || schedulers.includes(scheduler);

/** `shapes` adds what a policy needs to find nodes for pods. */
export function podSummaryOf(pod: Pod, powerProfileLabel?: string, shapes?: PodShapes): PodSummary {
  const hasFinished = isFinished(pod);
  if (hasFinished && shapes === undefined) return finished;
  const { workloadClass, unrecognised } = workloadClassOf(pod);
  const constraint = powerConstraintOf(pod, powerProfileLabel);
  const performanceSensitive = workloadClass === "performance" || constraint === "performance-only";
  const hasArrival = performanceSensitive || shapes?.allClasses === true;
  const ofNode = isOfNode(pod);
  if (hasFinished)
    return hasArrival && !ofNode ? { ...finished, performanceSensitive, ...arrivalOf(pod, shapes) } : finished;
  const { nodeName, schedulingGates, schedulerName = DEFAULT_SCHEDULER, priority = 0 } = specOf(pod);
  const node = nodeName === "" ? undefined : nodeName;
  const promise = podPromiseOf(pod);
  return {
    node,
    ...(promise && { promise }),
    active: node !== undefined || itemsOf(schedulingGates).length === 0,
    constraint,
    workloadClass,
    ...(unrecognised !== undefined && { unrecognisedClass: unrecognised }),
    performanceSensitive,
    demand: demandOf(pod),
    ...(ofNode && { ofNode }),
    ...(schedulerName !== DEFAULT_SCHEDULER && { scheduler: schedulerName }),
    ...(isControlPlanePod(pod) && { controlPlane: true }),
    ...(servesStorage(pod) && { servesStorage: true }),
    ...(shapes && { requests: shapes.requestsOf(pod), ...waitOf(pod, node) }),
    ...(hasArrival && arrivalOf(pod, shapes)),
    ...(hasArrival && node === undefined && { reference: referenceOf(pod), ...(priority !== 0 && { priority }) }),
  };
}

function referenceOf({ metadata }: Pod): PodReference {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

/**
 * DaemonSets of storage systems that keep data on the node's own disks, by a label of their pods. Ceph, Longhorn and MinIO run
 * other kinds of pods on such nodes, which keep a node awake anyway. The guide tells users not to label storage nodes.
 */
const STORAGE_LABELS: readonly (readonly [key: string, value: string])[] = [
  ["app", "io-engine"], // OpenEBS Mayastor
  ["app", "rook-ceph-osd"],
  ["app.kubernetes.io/component", "linstor-satellite"],
  ["glusterfs", "pod"],
  ["name", "portworx"],
];

const servesStorage = ({ metadata }: Pod): boolean =>
  STORAGE_LABELS.some(([key, value]) => metadata?.labels?.[key] === value);

type Arrival = Pick<PodSummary, "requests" | "nodes" | "createdAt">;

function arrivalOf(pod: Pod, shapes: PodShapes | undefined): Arrival | undefined {
  if (shapes === undefined) return undefined;
  const createdAt = parseInstant(pod.metadata?.creationTimestamp);
  return {
    requests: shapes.requestsOf(pod),
    nodes: shapes.constraintOf(pod),
    ...(createdAt !== undefined && { createdAt }),
  };
}

function waitOf(pod: Pod, node: string | undefined): Pick<PodSummary, "createdAt" | "waitedUntil"> | undefined {
  const createdAt = parseInstant(pod.metadata?.creationTimestamp);
  if (createdAt === undefined) return undefined;
  if (node === undefined) return { createdAt };
  const scheduled = itemsOf(pod.status?.conditions).find(({ type }) => type === "PodScheduled");
  const boundAt = parseInstant(scheduled?.lastTransitionTime) ?? parseInstant(pod.status?.startTime);
  return boundAt !== undefined && boundAt - createdAt >= QUEUED_AFTER ? { waitedUntil: boundAt } : undefined;
}

/** A finished pod needs nothing. */
const finished: PodSummary = {
  node: undefined,
  active: false,
  constraint: "general",
  workloadClass: "standard",
  performanceSensitive: false,
  demand: { cpuCores: 0, gpus: new Map() },
};
