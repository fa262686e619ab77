import type { PodSummary } from "../demand/index.ts";
import { EXCLUDED, FitTable, type PodGroup, resourcesOf } from "../fit/index.ts";
import { type Instant, type Milliseconds, watts } from "../units/index.ts";
import type { Need } from "./settings.ts";
import { isAsleep, isUsable, type SleepNode } from "./sleep-node.ts";

/** Nodes without GPUs come first. `on` are nodes that stay awake anyway, or are needed. */
const tiers = {
  on: 0,
  empty: { cpu: 1, gpu: 4 },
  waking: { cpu: 2, gpu: 5 },
  asleep: { cpu: 3, gpu: 6 },
} as const;

/** Pending pods use what is awake. A reserve without GPUs wakes a node without GPUs before it keeps one with GPUs awake. */
const orders = {
  pending: [tiers.on, tiers.empty.cpu, tiers.empty.gpu, tiers.waking.cpu, tiers.waking.gpu],
  reserve: [tiers.on, tiers.empty.cpu, tiers.waking.cpu, tiers.asleep.cpu, tiers.empty.gpu, tiers.waking.gpu],
} as const;

/** Pods that fit on awake nodes since a time, and still wait. */
export interface UnexplainedWait {
  readonly group: PodGroup;
  readonly since: Instant;
}

/** Packs pods onto nodes and collects the nodes that are needed for them. */
export class Placement {
  readonly #nodes: readonly SleepNode[];
  readonly #table: FitTable<SleepNode>;
  readonly #needs = new Map<number, Need>();

  /** `isLate`: whether the wake of a node takes so long that nothing relies on it. */
  constructor(
    nodes: readonly SleepNode[],
    pods: Iterable<PodSummary>,
    groups: readonly PodGroup[],
    isLate: (node: SleepNode) => boolean,
  ) {
    this.#nodes = nodes;
    const cost = ({ idle }: SleepNode) => ({ fixed: idle, cpu: watts(0), gpu: watts(0) });
    this.#table = new FitTable(nodes, pods, resourcesOf(groups), cost);
    for (const [index, node] of nodes.entries()) this.#table.tiers[index] = isLate(node) ? EXCLUDED : tierOf(node);
  }

  /** Reserves room for pods of one shape. Returns the node of each pod, as far as there is room. */
  place({ requests, nodes, count }: PodGroup, need: "pending" | "reserve"): readonly SleepNode[] {
    const table = this.#table;
    const order = [...orders[need], tiers.asleep.cpu, tiers.asleep.gpu];
    const placed: SleepNode[] = [];
    let index = -1;
    for (let pod = 0; pod < count; pod++) {
      if (index === -1 || !table.fits(index, requests)) {
        index = -1;
        for (const tier of order) {
          // Among empty nodes the cheapest one, so that a node stays the choice from its wake until it has pods.
          index = tier === tiers.on ? table.bestFit(requests, nodes, tier) : table.cheapest(requests, nodes, tier);
          if (index !== -1) break;
        }
        if (index === -1) break;
        this.need(index, need);
      }
      table.take(index, requests);
      const node = this.#nodes[index];
      if (node !== undefined) placed.push(node);
    }
    return placed;
  }

  /** For pods that wait without a visible reason: another node after each `step`, at most `MAX_TRIES`. */
  tryOthers(groups: readonly UnexplainedWait[], step: Milliseconds, now: Instant): void {
    for (const { group, since } of groups) {
      const { requests, nodes, count } = group;
      const tried = Math.floor((now - since) / step);
      if (tried < 1 || tried > MAX_TRIES) continue;
      const candidates = this.#table
        .byCost(requests, nodes, (index) => this.#table.tiers[index] !== tiers.on)
        .slice(0, MAX_TRIES);
      for (let more = 0; more < Math.min(count, tried, candidates.length); more++) {
        const index = candidates[(tried - 1 + more) % candidates.length];
        if (index !== undefined) this.need(index, "waiting");
      }
    }
  }

  /** Marks nodes of the list as needed until `enough` of them are; cheap and awake ones first. */
  keepAwake(members: readonly number[], enough: number, need: Need): void {
    const { empty, waking, asleep } = tiers;
    const on = members.filter((index) => this.#table.tiers[index] === tiers.on);
    let awake = on.filter((index) => this.#isUsable(index)).length;
    const fill = (...from: readonly number[]): void => {
      for (const tier of from)
        while (awake < enough) {
          const index = this.#cheapestOf(members, tier);
          if (index === -1) break;
          this.need(index, need);
          awake++;
        }
    };
    fill(empty.cpu, empty.gpu);
    // Nodes that wake for another reason: they count for further wakes, but do not let the last awake node sleep.
    awake += on.filter((index) => !this.#isUsable(index)).length;
    fill(waking.cpu, waking.gpu, asleep.cpu, asleep.gpu);
  }

  /** Marks empty nodes that are awake as needed, until `enough` empty nodes are. */
  keepEmpty(members: readonly number[], enough: number, need: Need): void {
    // Nodes that never sleep count as well.
    const isEmpty = (index: number) => this.#table.tiers[index] === tiers.on && this.#nodes[index]?.pods === 0;
    const empties = members.filter((index) => isEmpty(index) && (this.#isUsable(index) || this.#needs.has(index)));
    for (let kept = empties.length; kept < enough; kept++) {
      let index = this.#cheapestOf(members, tiers.empty.cpu);
      if (index === -1) index = this.#cheapestOf(members, tiers.empty.gpu);
      if (index === -1) return;
      this.need(index, need);
    }
  }

  /** Why the node is needed; undefined if it is not. */
  needOf(index: number): Need | undefined {
    return this.#needs.get(index);
  }

  #isUsable(index: number): boolean {
    const node = this.#nodes[index];
    return node !== undefined && isUsable(node);
  }

  #cheapestOf(members: readonly number[], tier: number): number {
    let best = -1;
    for (const index of members) {
      if (this.#table.tiers[index] !== tier) continue;
      if (best === -1 || (this.#nodes[index]?.idle ?? 0) < (this.#nodes[best]?.idle ?? 0)) best = index;
    }
    return best;
  }

  need(index: number, need: Need): void {
    if (!this.#needs.has(index)) this.#needs.set(index, need);
    this.#table.tiers[index] = tiers.on;
  }
}

const MAX_TRIES = 16;

function tierOf(node: SleepNode): number {
  const kind = node.fit.gpus > 0 ? "gpu" : "cpu";
  if (node.cordoned || node.state === "failed" || node.lost === true) return EXCLUDED;
  // Not ready although it is on: something else is wrong with it.
  if (node.state === "on" && !node.ready) return EXCLUDED;
  // A node that may not sleep any more is woken, whatever needs it.
  if (isAsleep(node)) return node.barrier === undefined && node.pods === 0 ? tiers.asleep[kind] : tiers.waking[kind];
  if (node.state !== "on") return tiers.waking[kind];
  return node.pods === 0 && node.barrier === undefined ? tiers.empty[kind] : tiers.on;
}
