import type { NodeConstraint, PodRequests, PodSummary } from "../demand/index.ts";
import type { Instant } from "../units/index.ts";

/** Pods of one shape: the same requests, and the same nodes that they may run on. */
export interface PodGroup {
  readonly requests: PodRequests;
  readonly nodes: NodeConstraint;
  readonly count: number;
}

export interface PendingGroup extends PodGroup {
  /** When the oldest pod was created. */
  readonly oldest: Instant | undefined;
  readonly pods: readonly PodSummary[];
}

/** A pass handles at most this many pending pods and constraints, the oldest first. The next pass handles the others. */
const MAX_PENDING = 10_000;
const MAX_CONSTRAINTS = 512;

const ANY_NODE: NodeConstraint = {};

/** The pending pods among `pods` that `counts` accepts, those of the same shape together, large ones first. */
export function pendingGroups(
  pods: Iterable<PodSummary>,
  counts: (pod: PodSummary) => boolean,
): readonly PendingGroup[] {
  let pending: PodSummary[] = [];
  for (const pod of pods)
    if (pod.active && pod.node === undefined && pod.requests !== undefined && counts(pod)) pending.push(pod);
  if (pending.length > MAX_PENDING)
    pending = pending.toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0)).slice(0, MAX_PENDING);
  const groups: (PodGroup & { count: number; oldest: Instant | undefined; readonly pods: PodSummary[] })[] = [];
  const known = new Map<NodeConstraint, Map<PodRequests, (typeof groups)[number]>>();
  for (const pod of pending) {
    const { requests, nodes = ANY_NODE, createdAt } = pod;
    if (requests === undefined) continue;
    let byRequests = known.get(nodes);
    if (byRequests === undefined) {
      if (known.size >= MAX_CONSTRAINTS) continue;
      known.set(nodes, (byRequests = new Map()));
    }
    const group = byRequests.get(requests);
    if (group === undefined) {
      const first = { requests, nodes, count: 1, oldest: createdAt, pods: [pod] };
      byRequests.set(requests, first);
      groups.push(first);
    } else {
      group.count++;
      group.pods.push(pod);
      if (createdAt !== undefined && !(createdAt >= (group.oldest ?? Infinity))) group.oldest = createdAt;
    }
  }
  return largestFirst(groups);
}

/** By GPUs, then by CPUs. */
export const podSize = ({ requests }: PodGroup): number => requests.gpus * 1e6 + (requests.amounts.get("cpu") ?? 0);

/** A text that differs for different shapes. */
export const shapeKey = ({ requests, nodes }: PodGroup): string =>
  JSON.stringify([Array.from(requests.amounts).toSorted(([a], [b]) => (a < b ? -1 : 1)), nodes]);

/** Large pods first: small ones fit into what they leave. The order of equal ones does not depend on the order of pods. */
export function largestFirst<Group extends PodGroup>(groups: readonly Group[]): readonly Group[] {
  const keyed = groups.map((group) => ({ group, size: podSize(group), key: shapeKey(group) }));
  return keyed.toSorted((a, b) => b.size - a.size || (a.key < b.key ? -1 : 1)).map(({ group }) => group);
}

export function resourcesOf(groups: readonly PodGroup[]): Set<string> {
  const names = new Set<string>();
  for (const { requests } of groups) for (const resource of requests.amounts.keys()) names.add(resource);
  return names;
}
