import { type NodeConstraint, type PodSummary, QUEUED_AFTER } from "../demand/index.ts";
import {
  type ArrivalHistory,
  FitTable,
  largestFirst,
  type PendingGroup,
  type PodGroup,
  pendingGroups,
  resourcesOf,
} from "../fit/index.ts";
import { type Instant, watts } from "../units/index.ts";
import { AwaitedNodes } from "./awaited-nodes.ts";
import type { PlanNode, PlannedNode } from "./plan-node.ts";
import { type FitResult, Promotions, reasons } from "./promotions.ts";

/** What fit_aware_v1 needs to know about the pods. */
export interface FitDemand {
  /** All pods. Those without requests take no room. */
  readonly pods: Iterable<PodSummary>;
  /** Without it the reserve is one node per family. */
  readonly arrivals?: ArrivalHistory | undefined;
  /** Empty nodes are switched off. Then the reserve of pods without GPUs is on nodes without GPUs only. */
  readonly sleeps?: boolean;
}

interface FitPlan {
  readonly hpCount: number;
  readonly nodes: readonly PlannedNode[];
  readonly fit: FitResult;
}

const ANY_NODE: NodeConstraint = {};

/**
 * Performance where it is needed: a node is performance while it runs performance pods, was chosen for a pending one, or
 * belongs to the reserve. All other nodes are eco.
 *
 * Pending pods go to performance nodes first. One that fits on none promotes the eco node whose promotion costs least. Then
 * the same is done for the reserve. Nodes that were promoted a short time ago stay performance and have room for both.
 */
export function planFit(
  ordered: readonly PlanNode[],
  { pods, arrivals, sleeps = false }: FitDemand,
  reserveQuantile: number,
  now: Instant,
): FitPlan {
  const { active, pendingByUid, queuedCpus } = readPods(pods, now);
  const pending = pendingGroups(active, ({ performanceSensitive }) => performanceSensitive);
  const reserve = reserveOf(arrivals, reserveQuantile, now);
  const table = new FitTable(ordered, active, resourcesOf([...pending, ...reserve]), promotionCostOf);
  const isPossible = (index: number, { requests, nodes = ANY_NODE }: PodSummary): boolean =>
    ordered[index]?.pin !== "eco" && requests !== undefined && table.fitsWhenEmpty(index, requests, nodes);
  const awaited = new AwaitedNodes(ordered, pendingByUid, isPossible, now);
  // Room that appears in a full cluster is gone before a node is promoted for it.
  const isFull = queuedCpus > 0 && queuedCpus >= table.freeCpusBesideGpus();
  const plan = new Promotions(ordered, table, awaited, isFull);
  plan.keepRunning(active);

  const hasRoom = plan.keepChoices();
  let onPerformance = hasRoom.size;
  let onPromoted = 0;
  let unplaced = 0;
  const hasChoice = new Set(Array.from(awaited.choices.values(), ({ pod }) => pod));
  const fitting: PendingGroup[] = [];
  const waiting: PendingGroup[] = [];
  for (const group of pending) {
    // A pod whose node has no room yet takes room on another one, if there is some now.
    const pods = podsByAge(group.pods.filter((pod) => !hasRoom.has(pod)));
    const queued = pods.filter((pod) => isQueued(pod, now)).length;
    const placed = plan.place({ ...group, count: pods.length }, reasons.pending, { queued });
    onPerformance += placed.onPerformance;
    onPromoted += placed.onPromoted;
    const left = pods.length - placed.onPerformance - placed.onPromoted;
    unplaced += left;
    // The scheduler takes the older pods of one shape first.
    if (left > 0) waiting.push({ ...group, count: left, pods: pods.slice(-left).filter((pod) => !hasChoice.has(pod)) });
    if (placed.onPerformance > 0 && placed.onPromoted === 0) fitting.push(group);
  }
  plan.tryOthers(fitting, now);
  plan.awaitRoom(waiting);
  for (const group of reserve) plan.place(group, reasons.reserve, { sparesGpuNodes: sleeps });
  plan.keepFamilies();
  const nodes = plan.nodes();
  const hpCount = nodes.filter(({ profile }) => profile === "performance").length;
  return { hpCount, nodes, fit: { onPerformance, onPromoted, unplaced } };
}

interface ReadPods {
  readonly active: readonly PodSummary[];
  readonly pendingByUid: ReadonlyMap<string, PodSummary>;
  /** CPUs that queued pods without GPUs request, of all classes. */
  readonly queuedCpus: number;
}

function readPods(pods: Iterable<PodSummary>, now: Instant): ReadPods {
  const active: PodSummary[] = [];
  const pendingByUid = new Map<string, PodSummary>();
  let queuedCpus = 0;
  for (const pod of pods) {
    if (!pod.active) continue;
    active.push(pod);
    if (pod.node !== undefined) continue;
    if (isQueued(pod, now) && pod.requests?.gpus === 0) queuedCpus += pod.requests.amounts.get("cpu") ?? 0;
    if (pod.performanceSensitive && pod.reference !== undefined) pendingByUid.set(pod.reference.uid, pod);
  }
  return { active, pendingByUid, queuedCpus };
}

const isQueued = ({ createdAt }: PodSummary, now: Instant): boolean =>
  createdAt !== undefined && now - createdAt >= QUEUED_AFTER;

const podsByAge = (pods: readonly PodSummary[]): readonly PodSummary[] =>
  pods.toSorted((one, other) => (one.createdAt ?? 0) - (other.createdAt ?? 0));

/**
 * The pods of the window at the quantile. At 1, which asks for room for all that came, also the largest pods: the busiest
 * window may consist of small ones, and then no node is empty enough.
 */
function reserveOf(arrivals: ArrivalHistory | undefined, quantile: number, now: Instant): readonly PodGroup[] {
  if (arrivals === undefined) return [];
  const window = arrivals.reserve(quantile, now);
  return largestFirst(quantile < 1 ? window : [...window, ...arrivals.largest(now)]);
}

/** What the caps of performance allow more. Lifting the caps of an idle device costs nothing. */
function promotionCostOf({ fit }: PlanNode) {
  const { cpu, gpu } = fit?.liftedWatts ?? { cpu: watts(0), gpu: watts(0) };
  return { fixed: watts(0), cpu, gpu };
}
