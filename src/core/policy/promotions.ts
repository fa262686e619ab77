import type { PodRequests, PodSummary } from "../demand/index.ts";
import { EXCLUDED, type FitTable, type PendingGroup, type PodGroup } from "../fit/index.ts";
import { type Instant, milliseconds } from "../units/index.ts";
import type { AwaitedNodes } from "./awaited-nodes.ts";
import { asHeld, asPinned, type PlanNode, type PlannedNode } from "./plan-node.ts";

/** Pending performance pods by what the plan has for them. */
export interface FitResult {
  /** Fit on nodes that are performance already. */
  readonly onPerformance: number;
  /** Fit on nodes that this plan promotes. */
  readonly onPromoted: number;
  /** Fit on no node that may be performance. */
  readonly unplaced: number;
}

/** Why a node is performance, for users. */
export const reasons = {
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
const MAX_UNEXPLAINED = 16;

/** A pass chooses nodes for at most this many pods that wait for room, the oldest ones: each looks at every node. */
const MAX_WAITING = 250;

const at = (column: Uint8Array, index: number): number => column[index] ?? EXCLUDED;

/** The nodes that a plan needs at performance, and why. */
export class Promotions {
  readonly #ordered: readonly PlanNode[];
  readonly #table: FitTable<PlanNode>;
  readonly #why: (string | undefined)[];
  /** 1 = the node has no GPUs. */
  readonly #withoutGpus: Uint8Array;
  /** Eco nodes that this plan promotes for pods. */
  readonly #promoted = new Set<number>();
  readonly #awaited: AwaitedNodes;
  readonly #isFull: boolean;
  /** Nodes without GPUs that were promoted a short time ago, those of this plan included. */
  #recentlyPromoted = 0;

  /** `isFull`: pods without GPUs wait for more than there is room. */
  constructor(ordered: readonly PlanNode[], table: FitTable<PlanNode>, awaited: AwaitedNodes, isFull: boolean) {
    this.#isFull = isFull;
    this.#ordered = ordered;
    this.#table = table;
    this.#awaited = awaited;
    this.#why = ordered.map(() => undefined);
    this.#withoutGpus = Uint8Array.from(ordered, (_, index) => (table.hasGpus(index) ? 0 : 1));
    for (const [index, { pin, heldUntil, isRaising = false, fit }] of ordered.entries()) {
      if ((heldUntil !== undefined || isRaising) && !table.hasGpus(index)) this.#recentlyPromoted++;
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

  /** Keeps the nodes that were chosen for waiting pods. No other pod counts on their room. Returns the pods that fit now. */
  keepChoices(): ReadonlySet<PodSummary> {
    const fitting = new Set<PodSummary>();
    for (const [index, { pod }] of this.#awaited.choices) {
      if (pod.requests === undefined) continue;
      if (this.#table.fits(index, pod.requests)) {
        fitting.add(pod);
        // A pod that is not bound to its node by then has a constraint that the plan does not know.
        this.#awaited.limit(index, UNEXPLAINED_WAIT);
      }
      this.#keepFree(index, pod.requests);
    }
    return fitting;
  }

  #keepFree(index: number, requests: PodRequests): void {
    this.#need(index, reasons.room);
    this.#table.take(index, requests);
    this.#awaited.leave(index, this.#table.spareRoom(index));
    this.#table.tiers[index] = tiers.excluded;
  }

  /**
   * Reserves room for pods of one shape. A node that took one of them takes the next one too, as long as it fits. The reserve
   * of pods without GPUs promotes no node with GPUs: its caps save most, and a pod that needs it still promotes it. With
   * `sparesGpuNodes` it does not count on their room either: pods that ran there would keep the dearest nodes awake.
   *
   * In a full cluster only `queued` pods, those that have waited for a while, promote nodes.
   */
  place(
    { requests, nodes, count }: PodGroup,
    why: string,
    { sparesGpuNodes = false, queued = 0 }: { readonly sparesGpuNodes?: boolean; readonly queued?: number } = {},
  ): Pick<FitResult, "onPerformance" | "onPromoted"> {
    const table = this.#table;
    const isLimited = this.#isFull && requests.gpus === 0;
    let promotions = isLimited ? Math.min(queued, Math.max(1, this.#awaited.places) - this.#recentlyPromoted) : count;
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
          if (promotions-- <= 0) break;
          if (!table.hasGpus(index)) this.#recentlyPromoted++;
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
   * node would go to standard pods, which take it at once. The node is kept free for the pod, the oldest pods first: a small
   * one needs its node for seconds, and room for a large one never appears by itself. Performance nodes come first, also those
   * that cannot be kept free now: every other choice promotes a node. Only for pods without GPUs, on nodes without GPUs: caps
   * of GPU nodes save most, see docs/design/0016.
   */
  awaitRoom(waiting: readonly PendingGroup[]): void {
    const table = this.#table;
    const isPerformance = (index: number) => at(table.tiers, index) <= tiers.performance;
    const isRested = (index: number) => !this.#awaited.isResting(index);
    const hasNoRoom = new Set<PendingGroup>();
    for (const { pod, group } of oldestPodsWithoutGpus(waiting, MAX_WAITING)) {
      if (hasNoRoom.has(group)) continue;
      const { requests, nodes } = group;
      const mayKeep = pod.reference !== undefined && this.#awaited.mayChoose;
      const nearest = (isCandidate: (index: number) => boolean) => table.nearest(requests, nodes, isCandidate);
      let index = mayKeep ? nearest((each) => isPerformance(each) && isRested(each)) : -1;
      if (index === -1) {
        let shared = nearest(isPerformance);
        // Where no node may be kept free, the pod gets a performance node all the same.
        if (shared === -1 && this.#awaited.places === 0) shared = nearest(() => true);
        if (shared !== -1) {
          table.take(shared, requests);
          this.#need(shared, reasons.room);
          continue;
        }
        if (mayKeep) index = nearest(isRested);
      }
      if (index === -1 || pod.reference === undefined) {
        hasNoRoom.add(group);
        continue;
      }
      this.#awaited.choose(index, pod, pod.reference);
      this.#keepFree(index, requests);
    }
  }

  /** Promotes a node for each shape that waits without a visible reason, the next cheapest every UNEXPLAINED_WAIT. */
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
      if (++tried >= MAX_UNEXPLAINED) return;
    }
  }

  /**
   * Every family that runs pods keeps a performance node, one with room if there is one. A family that has none promotes its
   * cheapest node with room. One whose performance nodes are full gets no further node: on a full cluster that would be another
   * one in each pass.
   */
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
      const isPerformance = (each: number) => at(table.tiers, each) <= tiers.performance;
      // A node that is only held would shadow a cheaper one until its time is over.
      let index = table.cheapestWithRoom(members, isPerformance);
      if (index === -1 && members.some((each) => this.#stays(each))) continue;
      if (index === -1) index = members.find(isPerformance) ?? -1;
      if (index === -1) index = table.cheapestWithRoom(members, (each) => at(table.tiers, each) === tiers.eco);
      if (index !== -1) this.#need(index, reasons.family);
    }
  }

  /** Every node with its profile. */
  nodes(): PlannedNode[] {
    return this.#ordered.map(({ name, pin, heldUntil }, index) => {
      const awaitedBy = this.#awaited.of(index);
      const published = awaitedBy && { awaitedBy };
      if (pin !== undefined) return { ...asPinned(name, pin), ...published };
      const why = this.#why[index] ?? (heldUntil && asHeld(heldUntil));
      return why === undefined
        ? { name, profile: "eco", reason: reasons.unneeded, ...published }
        : { name, profile: "performance", reason: why, ...published };
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

interface WaitingPod {
  readonly pod: PodSummary;
  readonly group: PendingGroup;
}

/** Of pods of the same age the order of the groups decides. */
function oldestPodsWithoutGpus(groups: readonly PendingGroup[], max: number): readonly WaitingPod[] {
  const all: WaitingPod[] = [];
  for (const group of groups) if (group.requests.gpus === 0) for (const pod of group.pods) all.push({ pod, group });
  return all.toSorted((one, other) => (one.pod.createdAt ?? 0) - (other.pod.createdAt ?? 0)).slice(0, max);
}
