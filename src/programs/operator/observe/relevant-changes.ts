import { isDeepStrictEqual } from "node:util";
import type { NodeHardware, NodeTwin } from "../../../core/api/index.ts";
import type { PodSummary } from "../../../core/demand/index.ts";
import type { SnapshotNode } from "../../../core/planning/index.ts";
import type { Change } from "../../../platform/kube/index.ts";

// Which changes trigger a planning pass at once. Changes that affect only measured values wait for the next tick.

const decisive = ({ metadata, spec, status }: SnapshotNode) => [metadata.labels, spec, status];

export const nodeChangeMatters = (change: Change<SnapshotNode>): boolean =>
  change.type !== "updated" || !isDeepStrictEqual(decisive(change.old), decisive(change.new));

const found = ({ status }: NodeHardware) => ({ ...status, updatedAt: undefined });

/** A repeated discovery with the same result triggers no pass. */
export const hardwareChangeMatters = (change: Change<NodeHardware>): boolean =>
  change.type !== "updated" || !isDeepStrictEqual(found(change.old), found(change.new));

/** The pod needs a warning Event. */
const hasNewInvalidClass = (change: Change<PodSummary>): boolean =>
  change.type !== "deleted" &&
  change.new.unrecognisedClass !== undefined &&
  (change.type === "added" || change.old.unrecognisedClass !== change.new.unrecognisedClass);

const counts = ({ active, performanceSensitive }: PodSummary): boolean => active && performanceSensitive;

/** Only performance-sensitive pods affect the plan or block a downgrade. */
export function podChangeMatters(change: Change<PodSummary>): boolean {
  if (hasNewInvalidClass(change)) return true;
  const before = change.type !== "added" && counts(change.old) ? change.old : undefined;
  const after = change.type !== "deleted" && counts(change.new) ? change.new : undefined;
  return (before === undefined) !== (after === undefined) || before?.node !== after?.node;
}

/** A pod joined the queue: a performance-sensitive one, or one of any class if nodes may sleep. */
export function isNewPendingPod(change: Change<PodSummary>, ofAnyClass: boolean): boolean {
  const isPending = (pod: PodSummary): boolean =>
    pod.active && pod.node === undefined && pod.ofNode !== true && (ofAnyClass || pod.performanceSensitive);
  return change.type !== "deleted" && isPending(change.new) && !(change.type === "updated" && isPending(change.old));
}

/** The node to which a scheduler has bound the pod. A pod of a DaemonSet, or one made for its node, was not placed by it. */
export function placedNode(change: Change<PodSummary>): string | undefined {
  return change.type === "updated" && change.old.node === undefined && change.new.ofNode !== true
    ? change.new.node
    : undefined;
}

/** A promoted node is published as performance as soon as its agent confirms the caps. */
const receipt = ({ spec, status }: NodeTwin) =>
  spec.profile === "performance" && status?.schedulableClass !== "performance" && status?.controlStatus
    ? [status.controlStatus.observedGeneration, status.controlStatus.cpu?.result, status.controlStatus.gpu?.result]
    : undefined;

const target = (twin: NodeTwin) => [twin.spec, twin.status?.schedulableClass, twin.status?.power?.state, receipt(twin)];

/** The agent confirmed, or failed to set, the caps of a promoted node. */
export const isReceipt = (change: Change<NodeTwin>): boolean =>
  change.type === "updated" && !isDeepStrictEqual(receipt(change.old), receipt(change.new));

/** Other reports of the agent trigger no pass. A change of the target by another writer does. */
export const twinChangeMatters = (change: Change<NodeTwin>): boolean =>
  change.type !== "updated" || !isDeepStrictEqual(target(change.old), target(change.new));
