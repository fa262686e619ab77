import { type AwaitedPod, isKeptFree, type Pod } from "../api/index.ts";
import { fitRequests, isOfNode, type WorkloadClass } from "../demand/index.ts";
import { type Instant, isoTime, milliseconds } from "../units/index.ts";
import { isFresh } from "./batch.ts";
import type { KnownClass, TwinState } from "./twin-state.ts";

/**
 * Why a node is rejected: for a performance pod, or, if it is asleep or kept free, for every pod. kube-scheduler groups equal
 * texts (`3 Joulie: …`), so no text names its node. The index is the code that the columnar kernel returns; 0 means not rejected.
 */
export const rejections = [
  undefined,
  "Joulie: the node is capped to save energy (class eco); performance pods need a node of class performance",
  "Joulie: the operator makes the node eco when its performance pods have ended (class draining), so it takes no further ones",
  "Joulie: the node is labelled power-profile=eco and its twin says nothing else; performance pods need a performance node",
  "Joulie: the node is labelled draining=true and its twin says nothing else; performance pods need a performance node",
  "Joulie: the node is asleep (class asleep); Joulie wakes it when pods need it",
  "Joulie: the node is kept free for a performance pod that waits for room",
] as const;
export type RejectionCode = 0 | 1 | 2 | 3 | 4 | 5 | 6;

/** The codes that also reject standard pods. */
export const ASLEEP: RejectionCode = 5;
export const KEPT_FREE: RejectionCode = 6;
const codeOfClass: Readonly<Record<KnownClass, RejectionCode>> = {
  performance: 0,
  eco: 1,
  draining: 2,
  asleep: ASLEEP,
};
const LABELLED_ECO: RejectionCode = 3;
const LABELLED_DRAINING: RejectionCode = 4;

/**
 * The class is trusted at any age: an old `eco` keeps performance pods off a node that is probably still capped, which is
 * safe. The class takes precedence over the labels, which are written last. Labels count only if the twin has no class.
 */
export function rejectionCode(
  workloadClass: WorkloadClass,
  schedulableClass: KnownClass | undefined,
  profileLabel: string | undefined,
  drainingLabel: string | undefined,
): RejectionCode {
  if (schedulableClass === "asleep") return ASLEEP;
  if (workloadClass !== "performance") return 0;
  if (schedulableClass !== undefined) return codeOfClass[schedulableClass];
  if (drainingLabel === "true") return LABELLED_DRAINING;
  return profileLabel === "eco" ? LABELLED_ECO : 0;
}

export interface AskingPod {
  readonly uid: string | undefined;
  readonly isOfNode: boolean;
  readonly priority: number;
  /** The node on which kube-scheduler holds room for the pod, often after it has evicted other pods there. */
  readonly nominated?: string | undefined;
  readonly cpu: number;
  readonly memory: number;
  readonly now: Instant;
}

const SYSTEM_CRITICAL = 2_000_000_000;

export function askingPodOf(pod: Pod, now: Instant): AskingPod {
  const requests = fitRequests(pod);
  return {
    uid: pod.metadata?.uid,
    isOfNode: isOfNode(pod),
    priority: pod.spec?.priority ?? 0,
    nominated: pod.status?.nominatedNodeName,
    cpu: requests.get("cpu") ?? 0,
    memory: requests.get("memory") ?? 0,
    now,
  };
}

/** An operator that is gone cannot see that a node which it kept free has become the only one. */
const MAX_SILENCE = milliseconds(5 * 60_000);

/** The pod that the node is kept free for, if this one would delay it. */
export function reservedFor(
  node: string | undefined,
  twin: TwinState | undefined,
  pod: AskingPod,
): AwaitedPod | undefined {
  const awaited = twin?.awaitedBy;
  if (twin === undefined || !isKeptFree(awaited, pod.now) || !isFresh(twin, pod.now, MAX_SILENCE)) return undefined;
  if (pod.uid === awaited.uid || goesFirst(node, awaited, pod)) return undefined;
  const { spare } = awaited;
  return spare === undefined || pod.cpu > spare.cpu || pod.memory > spare.memory ? awaited : undefined;
}

/**
 * Pods of a node can run on no other one, and the cluster needs its critical pods. Preemption would be stuck if a pod of higher
 * priority, or one that room was made for, were rejected.
 */
const goesFirst = (node: string | undefined, { priority: awaited = 0 }: AwaitedPod, pod: AskingPod): boolean =>
  pod.isOfNode ||
  pod.priority > awaited ||
  pod.priority >= SYSTEM_CRITICAL ||
  (pod.nominated !== undefined && pod.nominated === node);

export const reservedText = ({ pod, until }: AwaitedPod): string =>
  `${rejections[KEPT_FREE]}: ${pod}, until ${isoTime(until)} at the latest`;

/** The reason why the pod may not run on this node; undefined if it may. `pod` is for nodes that are kept free. */
export function filterNode(
  workloadClass: WorkloadClass,
  twin: TwinState | undefined,
  profileLabel: string | undefined,
  drainingLabel?: string,
  { node, pod }: { readonly node?: string; readonly pod?: AskingPod } = {},
): string | undefined {
  const code = rejectionCode(workloadClass, twin?.schedulableClass, profileLabel, drainingLabel);
  if (code !== 0) return rejections[code];
  const awaited = pod && reservedFor(node, twin, pod);
  return awaited && reservedText(awaited);
}
