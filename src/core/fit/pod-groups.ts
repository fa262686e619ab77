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

/** A pass handles at most this many pending pods, and this many different constraints. A later pass handles the others. */
const MAX_PENDING = 10_000;
const MAX_CONSTRAINTS = 512;

const ANY_NODE: NodeConstraint = {};

/** Groups the pending pods that `counts` accepts by their shape. Groups of large pods come first. */
export function pendingGroups(
  pods: Iterable<PodSummary>,
  counts: (pod: PodSummary) => boolean,
): readonly PendingGroup[] {
  const groups: GrowingGroup[] = [];
  const groupsByNodes = new Map<NodeConstraint, Map<PodRequests, GrowingGroup>>();
  for (const pod of oldestPending(pods, counts)) {
    const { requests, nodes = ANY_NODE, createdAt } = pod;
    if (requests === undefined) continue;
    let groupsByRequests = groupsByNodes.get(nodes);
    if (groupsByRequests === undefined) {
      if (groupsByNodes.size >= MAX_CONSTRAINTS) continue;
      groupsByRequests = new Map();
      groupsByNodes.set(nodes, groupsByRequests);
    }
    const group = groupsByRequests.get(requests);
    if (group === undefined) {
      const newGroup = { requests, nodes, count: 1, oldest: createdAt, pods: [pod] };
      groupsByRequests.set(requests, newGroup);
      groups.push(newGroup);
    } else addPod(group, pod);
  }
  return largestFirst(groups);
}

interface GrowingGroup extends PodGroup {
  count: number;
  oldest: Instant | undefined;
  readonly pods: PodSummary[];
}

function addPod(group: GrowingGroup, pod: PodSummary): void {
  const { createdAt } = pod;
  group.count++;
  group.pods.push(pod);
  if (createdAt === undefined) return;
  if (group.oldest === undefined || createdAt < group.oldest) group.oldest = createdAt;
}

/** The pending pods that `counts` accepts. If they are more than `MAX_PENDING`, the oldest ones. */
function oldestPending(pods: Iterable<PodSummary>, counts: (pod: PodSummary) => boolean): readonly PodSummary[] {
  const pending: PodSummary[] = [];
  for (const pod of pods) {
    const isPending = pod.active && pod.node === undefined && pod.requests !== undefined;
    if (isPending && counts(pod)) pending.push(pod);
  }
  if (pending.length <= MAX_PENDING) return pending;
  return pending.toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0)).slice(0, MAX_PENDING);
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
