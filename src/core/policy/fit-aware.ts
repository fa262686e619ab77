import type { PodSummary } from "../demand/index.ts";
import {
  type ArrivalHistory,
  EXCLUDED,
  FitTable,
  largestFirst,
  type PendingGroup,
  type PodGroup,
  pendingGroups,
  resourcesOf,
} from "../fit/index.ts";
import { type Instant, milliseconds, watts } from "../units/index.ts";
import { asHeld, asPinned, type PlanNode, type PlannedNode } from "./plan-node.ts";

/** What fit_aware_v1 needs to know about the pods. */
export interface FitDemand {
  /** All pods. Those without requests take no room. */
  readonly pods: Iterable<PodSummary>;
  /** Without it the reserve is one node per family. */
  readonly arrivals?: ArrivalHistory | undefined;
  /** Empty nodes are switched off. Then the reserve of pods without GPUs is on nodes without GPUs only. */
  readonly sleeps?: boolean | undefined;
}

/** Pending performance pods by what the plan has for them. */
export interface FitResult {
  /** Fit on nodes that are performance already. */
  readonly onPerformance: number;
  /** Fit on nodes that this plan promotes. */
  readonly onPromoted: number;
  /** Fit on no node that may be performance. */
  readonly unplaced: number;
}

interface FitPlan {
  readonly hpCount: number;
  readonly nodes: readonly PlannedNode[];
  readonly fit: FitResult;
}

const reasons = {
  running: "runs performance pods",
  pending: "chosen for pending performance pods",
  waiting: "a performance pod fits on other nodes but is not bound there",
  room: "chosen for pending performance pods that wait for room",
  reserve: "reserve for arriving performance pods",
  family: "reserve of its family",
  unneeded: "no performance pod needs it",
} as const;

/** How strongly a node is performance. Pods go to the lowest number that has room. Nodes pinned to eco are excluded. */
const tiers = { needed: 0, performance: 1, eco: 2, excluded: EXCLUDED } as const;

/** A pod that fits on paper and still has no node after this time has a constraint that the plan does not know. */
const UNEXPLAINED_WAIT = milliseconds(120_000);
const MOST_UNEXPLAINED = 16;

/** A pass chooses nodes for at most this many pods that wait for room, the largest ones: each looks at every node. */
const MOST_AWAITED = 250;

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
  const active: PodSummary[] = [];
  for (const pod of pods) if (pod.active) active.push(pod);
  const pending = pendingGroups(active, ({ performanceSensitive }) => performanceSensitive);
  const reserve = reserveOf(arrivals, reserveQuantile, now);
  const table = new FitTable(ordered, active, resourcesOf([...pending, ...reserve]), promotionCostOf);
  const plan = new Promotions(ordered, table);
  plan.keepRunning(active);

  let onPerformance = 0;
  let onPromoted = 0;
  let unplaced = 0;
  const fitting: PendingGroup[] = [];
  const waiting: PodGroup[] = [];
  for (const group of pending) {
    const placed = plan.place(group, reasons.pending);
    onPerformance += placed.onPerformance;
    onPromoted += placed.onPromoted;
    const left = group.count - placed.onPerformance - placed.onPromoted;
    unplaced += left;
    if (left > 0) waiting.push({ ...group, count: left });
    if (placed.onPerformance > 0 && placed.onPromoted === 0) fitting.push(group);
  }
  plan.tryOthers(fitting, now);
  plan.awaitRoom(waiting);
  for (const group of reserve) plan.place(group, reasons.reserve, sleeps);
  plan.keepFamilies();
  const nodes = plan.nodes();
  const hpCount = nodes.filter(({ profile }) => profile === "performance").length;
  return { hpCount, nodes, fit: { onPerformance, onPromoted, unplaced } };
}

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

const at = (column: Uint8Array, index: number): number => column[index] ?? EXCLUDED;

/** The nodes that a plan needs at performance, and why. */
class Promotions {
  readonly #ordered: readonly PlanNode[];
  readonly #table: FitTable<PlanNode>;
  readonly #why: (string | undefined)[];
  /** 1 = the node has no GPUs. */
  readonly #withoutGpus: Uint8Array;
  /** Eco nodes that this plan promotes for pods. */
  readonly #promoted = new Set<number>();

  constructor(ordered: readonly PlanNode[], table: FitTable<PlanNode>) {
    this.#ordered = ordered;
    this.#table = table;
    this.#why = ordered.map(() => undefined);
    this.#withoutGpus = Uint8Array.from(ordered, (_, index) => (table.hasGpus(index) ? 0 : 1));
    for (const [index, { pin, heldUntil, fit }] of ordered.entries()) {
      if (pin === "eco") continue;
      const isNeeded = pin === "performance" || heldUntil !== undefined;
      const otherwise = fit?.performance === true ? tiers.performance : tiers.eco;
      table.tiers[index] = isNeeded ? tiers.needed : otherwise;
    }
  }

  keepRunning(pods: readonly PodSummary[]): void {
    const busy = new Set<string>();
    for (const { node, performanceSensitive } of pods) if (performanceSensitive && node !== undefined) busy.add(node);
    for (const [index, { name, pin }] of this.#ordered.entries())
      if (busy.has(name) && pin === undefined) this.#need(index, reasons.running);
  }

  /**
   * Reserves room for pods of one shape. A node that took one of them takes the next one too, as long as it fits. The reserve
   * of pods without GPUs promotes no node with GPUs: its caps save most, and a pod that needs it still promotes it. With
   * `sparesGpuNodes` it does not count on their room either: pods that ran there would keep the dearest nodes awake.
   */
  place(
    { requests, nodes, count }: PodGroup,
    why: string,
    sparesGpuNodes = false,
  ): Pick<FitResult, "onPerformance" | "onPromoted"> {
    const table = this.#table;
    const among = sparesGpuNodes && requests.gpus === 0 ? this.#withoutGpus : undefined;
    let onPerformance = 0;
    let onPromoted = 0;
    let index = -1;
    for (let pod = 0; pod < count; pod++) {
      if (index === -1 || !table.fits(index, requests)) {
        index = table.bestFit(requests, nodes, tiers.needed, among);
        if (index === -1) index = table.bestFit(requests, nodes, tiers.performance, among);
        if (index === -1) {
          index = table.cheapest(requests, nodes, tiers.eco);
          if (index === -1 || (why === reasons.reserve && requests.gpus === 0 && table.hasGpus(index))) break;
          this.#promoted.add(index);
        }
        this.#need(index, why);
      }
      table.take(index, requests);
      if (this.#promoted.has(index)) onPromoted++;
      else onPerformance++;
    }
    return { onPerformance, onPromoted };
  }

  /**
   * Chooses for each pod that fits nowhere the node that has to free least for it. Otherwise room that becomes free on an eco
   * node would go to standard pods, which take it at once. Only for pods without GPUs, on nodes without GPUs: caps of GPU
   * nodes save most, see docs/design/0016.
   */
  awaitRoom(waiting: readonly PodGroup[]): void {
    const table = this.#table;
    let awaited = 0;
    for (const { requests, nodes, count } of waiting) {
      if (requests.gpus > 0) continue;
      for (let pod = 0; pod < count; pod++) {
        if (++awaited > MOST_AWAITED) return;
        const index = table.nearest(requests, nodes);
        if (index === -1) break;
        table.take(index, requests);
        this.#need(index, reasons.room);
      }
    }
  }

  /**
   * Promotes another node for each shape whose oldest pod waits without a visible reason: the next cheapest one every
   * UNEXPLAINED_WAIT, so that in the end every node was tried.
   */
  tryOthers(pending: readonly PendingGroup[], now: Instant): void {
    let tried = 0;
    for (const { requests, nodes, oldest } of pending) {
      const step = oldest === undefined ? 0 : Math.floor((now - oldest) / UNEXPLAINED_WAIT);
      if (step < 1) continue;
      // Nodes that an earlier pass tried stay candidates: otherwise every pass of this step would promote another one.
      const candidates = this.#table.byCost(requests, nodes, (each) => this.#why[each] === undefined);
      const index = candidates[(step - 1) % Math.max(1, candidates.length)];
      if (index === undefined) continue;
      this.#need(index, reasons.waiting);
      if (++tried >= MOST_UNEXPLAINED) return;
    }
  }

  /** Every family that runs pods keeps a performance node with room, if any of its nodes has room. */
  keepFamilies(): void {
    const table = this.#table;
    const families = new Map<string, number[]>();
    const inUse = new Set<string>();
    for (const [index, { family }] of this.#ordered.entries()) {
      const members = families.get(family);
      if (members === undefined) families.set(family, [index]);
      else members.push(index);
      if ((table.podCount[index] ?? 0) > 0) inUse.add(family);
    }
    for (const family of inUse) {
      const members = families.get(family) ?? [];
      if (table.cheapestWithRoom(members, (index) => this.#stays(index)) !== -1) continue;
      // A node that is only held would shadow a cheaper one until its time is over.
      let index = table.cheapestWithRoom(members, (each) => at(table.tiers, each) <= tiers.performance);
      if (index === -1) index = table.cheapestWithRoom(members, (each) => at(table.tiers, each) === tiers.eco);
      if (index !== -1) this.#need(index, reasons.family);
    }
  }

  /** Every node with its profile. */
  nodes(): PlannedNode[] {
    return this.#ordered.map(({ name, pin, heldUntil }, index) => {
      if (pin !== undefined) return asPinned(name, pin);
      const why = this.#why[index] ?? (heldUntil && asHeld(heldUntil));
      return why === undefined
        ? { name, profile: "eco", reason: reasons.unneeded }
        : { name, profile: "performance", reason: why };
    });
  }

  /** Whether the node is performance for more than its dwell time. */
  #stays(index: number): boolean {
    return this.#why[index] !== undefined || this.#ordered[index]?.pin === "performance";
  }

  #need(index: number, why: string): void {
    this.#table.tiers[index] = tiers.needed;
    this.#why[index] ??= why;
  }
}
