import { isDeepStrictEqual } from "node:util";
import type { NodeHardware, NodeTwin } from "../../../core/api/index.ts";
import type { PodSummary } from "../../../core/demand/index.ts";
import type { SnapshotNode } from "../../../core/planning/index.ts";
import type { Change } from "../../../platform/kube/index.ts";

// Which changes are worth a pass before the next tick. What only moves a figure waits for the tick.

const decisive = ({ metadata, spec, status }: SnapshotNode) => [metadata.labels, spec, status];

export const nodeChangeMatters = (change: Change<SnapshotNode>): boolean =>
  change.type !== "updated" || !isDeepStrictEqual(decisive(change.old), decisive(change.new));

const found = ({ status }: NodeHardware) => ({ ...status, updatedAt: undefined });

/** That the agent looked again and found the same is no news. */
export const hardwareChangeMatters = (change: Change<NodeHardware>): boolean =>
  change.type !== "updated" || !isDeepStrictEqual(found(change.old), found(change.new));

/** Its owner waits for the warning. */
const isMisspelt = (change: Change<PodSummary>): boolean =>
  change.type !== "deleted" &&
  change.new.unrecognisedClass !== undefined &&
  (change.type === "added" || change.old.unrecognisedClass !== change.new.unrecognisedClass);

const counts = ({ active, performanceSensitive }: PodSummary): boolean => active && performanceSensitive;

/** Only performance-sensitive pods move the plan or hold a node back. */
export function podChangeMatters(change: Change<PodSummary>): boolean {
  if (isMisspelt(change)) return true;
  const before = change.type !== "added" && counts(change.old) ? change.old : undefined;
  const after = change.type !== "deleted" && counts(change.new) ? change.new : undefined;
  return (before === undefined) !== (after === undefined) || before?.node !== after?.node;
}

const target = ({ spec, status }: NodeTwin) => [spec, status?.schedulableClass];

/** The agent's reports are figures; somebody else's hand on the target is news. */
export const twinChangeMatters = (change: Change<NodeTwin>): boolean =>
  change.type !== "updated" || !isDeepStrictEqual(target(change.old), target(change.new));
