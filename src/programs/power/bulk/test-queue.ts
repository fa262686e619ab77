/** What is known about a node whose wake is to be proven. */
export interface TestCandidate {
  readonly node: string;
  readonly zone: string;
  /** Ready and in use: not tainted by a sleep, and not being tested. */
  readonly isUp: boolean;
  /** Why it cannot be tested at all. */
  readonly barrier?: string | undefined;
  /** Pods that would be lost, or would have to move. */
  readonly pods: number;
  /** Why its pods cannot be moved. */
  readonly stuck?: string | undefined;
}

export interface QueueLimits {
  /** Nodes that are tested at the same time. */
  readonly concurrency: number;
  /** Whether pods are moved away. */
  readonly drain: boolean;
}

/** At most this share of a zone is tested at the same time, and at least one node. */
const ZONE_SHARE = 0.1;
/** While a larger share of a zone is not up, none of its nodes is tested. */
const MAX_DOWN_SHARE = 0.45;

/**
 * The nodes to test now, empty ones first. `running` are being tested, `done` have been. All other nodes of the cluster are in
 * `nodes` as well: they count in their zones.
 */
export function nextTests(
  nodes: readonly TestCandidate[],
  waiting: ReadonlySet<string>,
  running: ReadonlySet<string>,
  { concurrency, drain }: QueueLimits,
): readonly string[] {
  const zones = Map.groupBy(nodes, ({ zone }) => zone);
  const started: string[] = [];
  const inZone = (zone: string): number =>
    nodes.filter(({ node, zone: other }) => other === zone && (running.has(node) || started.includes(node))).length;
  const hasRoom = (zone: string): boolean => {
    const members = zones.get(zone) ?? [];
    const down = members.filter(({ node, isUp }) => !isUp && !running.has(node)).length;
    const tested = inZone(zone);
    if (down + tested + 1 > Math.max(1, members.length * MAX_DOWN_SHARE)) return false;
    return tested < Math.max(1, Math.floor(members.length * ZONE_SHARE));
  };
  const ready = nodes
    .filter(({ node }) => waiting.has(node))
    .filter((candidate) => obstacleOf(candidate, drain) === undefined)
    .toSorted((a, b) => a.pods - b.pods);
  for (const { node, zone } of ready) {
    if (running.size + started.length >= concurrency) break;
    if (hasRoom(zone)) started.push(node);
  }
  return started;
}

/** Why a node cannot be tested as it is. */
export function obstacleOf(candidate: TestCandidate, drain: boolean): string | undefined {
  const { barrier, isUp, pods, stuck } = candidate;
  if (barrier !== undefined) return barrier;
  if (!isUp) return "it is not Ready, or it sleeps";
  if (pods === 0) return undefined;
  if (!drain) return `${pods} ${pods === 1 ? "pod runs" : "pods run"} on it; --drain moves them away`;
  return stuck;
}
