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

interface Zone {
  size: number;
  down: number;
  tested: number;
}

/**
 * The nodes of `waiting` to test now, empty ones first. `running` are being tested. All other nodes of the cluster are in `nodes`
 * as well: they count in their zones.
 */
export function nextTests(
  nodes: readonly TestCandidate[],
  waiting: ReadonlySet<string>,
  running: ReadonlySet<string>,
  { concurrency, drain }: QueueLimits,
): readonly string[] {
  const zones = zonesOf(nodes, running);
  const ready = nodes
    .filter((candidate) => waiting.has(candidate.node) && obstacleOf(candidate, drain) === undefined)
    .toSorted((a, b) => a.pods - b.pods);
  const started: string[] = [];
  for (const { node, zone: name } of ready) {
    if (running.size + started.length >= concurrency) break;
    const zone = zones.get(name);
    if (zone === undefined || !hasRoom(zone)) continue;
    zone.tested++;
    started.push(node);
  }
  return started;
}

function zonesOf(nodes: readonly TestCandidate[], running: ReadonlySet<string>): ReadonlyMap<string, Zone> {
  const zones = new Map<string, Zone>();
  for (const { node, zone: name, isUp } of nodes) {
    const zone = zones.get(name) ?? { size: 0, down: 0, tested: 0 };
    zones.set(name, zone);
    zone.size++;
    if (running.has(node)) zone.tested++;
    else if (!isUp) zone.down++;
  }
  return zones;
}

const hasRoom = ({ size, down, tested }: Zone): boolean =>
  down + tested + 1 <= Math.max(1, size * MAX_DOWN_SHARE) && tested < Math.max(1, Math.floor(size * ZONE_SHARE));

/** Whether the node may be tested later without anybody's help: it may come up, or others of its zone may. */
export const mayPass = (candidate: TestCandidate, drain: boolean): boolean =>
  candidate.barrier === undefined && (!candidate.isUp || obstacleOf(candidate, drain) === undefined);

/** Why a node cannot be tested as it is. */
export function obstacleOf(candidate: TestCandidate, drain: boolean): string | undefined {
  const { barrier, isUp, pods, stuck } = candidate;
  if (barrier !== undefined) return barrier;
  if (!isUp) return "it is not Ready, or it sleeps";
  if (pods === 0) return undefined;
  if (!drain) return `${pods} ${pods === 1 ? "pod runs" : "pods run"} on it; --drain moves them away`;
  return stuck;
}
