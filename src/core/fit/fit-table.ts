import type { Labels, NodeTaint, SpareRoom } from "../api/index.ts";
import {
  admitsNode,
  type NodeConstraint,
  namedNodesOf,
  type PodRequests,
  type PodSummary,
  type ResourceTotals,
} from "../demand/index.ts";
import { type Watts, watts } from "../units/index.ts";

/** What decides whether a pod fits on a node, besides the pods that are there. */
export interface NodeRoom {
  /** The labels that constraints of pods refer to. */
  readonly labels: Labels;
  /** Labels that the node may have soon as well, such as those of another profile. */
  readonly otherLabels?: Labels | undefined;
  readonly taints: readonly NodeTaint[];
  readonly allocatable: ResourceTotals;
  /** GPUs of all kinds in `allocatable`. */
  readonly gpus: number;
}

/** A node in a `FitTable`. Without `fit` it takes no pod. */
export interface FitNode {
  readonly name: string;
  readonly fit?: NodeRoom | undefined;
}

/** Nodes of this tier take no pod. The caller gives other tiers their meaning. */
export const EXCLUDED = 255;

/** The watts that it costs to use a node: always, and for the share of its devices in use. */
export interface UseCost {
  readonly fixed: Watts;
  readonly cpu: Watts;
  readonly gpu: Watts;
}

const FREE: UseCost = { fixed: watts(0), cpu: watts(0), gpu: watts(0) };

/** Added to the score of a node with GPUs for a pod without: more than any other score. */
const GPUS_LAST = 1e6;

/** Quantities are multiples of one billionth. */
const ROUNDING = 1e-9;

interface Column {
  readonly free: Float64Array;
  readonly whole: Float64Array;
}

/** The resources that are always counted: shares of them in use decide about costs. */
const CPU = "cpu";
const MEMORY = "memory";
const PODS = "pods";
const GIB = 2 ** 30;

/** Finds nodes for pods. Holds the free resources of all nodes in columns. Among equal nodes the first one wins. */
export class FitTable<Node extends FitNode = FitNode> {
  /** Which nodes a search considers. All nodes are excluded at first. */
  readonly tiers: Uint8Array;
  /** Active pods on each node. */
  readonly podCount: Uint32Array;
  readonly #nodes: readonly Node[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #columns = new Map<string, Column>();
  readonly #cpu: Column;
  readonly #memory: Column;
  readonly #pods: Column;
  readonly #gpu: Column;
  readonly #costs: readonly UseCost[];
  readonly #admitted = new Map<NodeConstraint, Uint8Array>();

  constructor(
    nodes: readonly Node[],
    pods: Iterable<PodSummary>,
    resources: Iterable<string>,
    costOf: (node: Node) => UseCost = () => FREE,
  ) {
    this.#nodes = nodes;
    this.#costs = nodes.map(costOf);
    this.#indexes = new Map(nodes.map(({ name }, index) => [name, index]));
    this.tiers = new Uint8Array(nodes.length).fill(EXCLUDED);
    this.podCount = new Uint32Array(nodes.length);
    const column = (of: (node: Node) => number): Column => {
      const whole = Float64Array.from(nodes, of);
      return { whole, free: whole.slice() };
    };
    for (const resource of new Set([CPU, MEMORY, PODS, ...resources])) {
      // A node that does not report how many pods it takes has no limit.
      const unknown = resource === PODS ? Infinity : 0;
      this.#columns.set(
        resource,
        column(({ fit }) => fit?.allocatable.get(resource) ?? unknown),
      );
    }
    this.#cpu = this.#columnOf(CPU);
    this.#memory = this.#columnOf(MEMORY);
    this.#pods = this.#columnOf(PODS);
    this.#gpu = column(({ fit }) => fit?.gpus ?? 0);
    for (const { active, node, requests } of pods) {
      const index = active && node !== undefined ? this.#indexes.get(node) : undefined;
      if (index === undefined) continue;
      this.podCount[index] = (this.podCount[index] ?? 0) + 1;
      if (requests !== undefined) this.take(index, requests);
    }
  }

  #columnOf(resource: string): Column {
    const column = this.#columns.get(resource);
    if (column === undefined) throw new Error(`no column for ${resource}`);
    return column;
  }

  /** Reserves the pod's resources on the node. */
  take(index: number, { amounts, gpus }: PodRequests): void {
    for (const [resource, amount] of amounts) {
      const column = this.#columns.get(resource);
      if (column !== undefined) column.free[index] = at(column.free, index) - amount;
    }
    this.#pods.free[index] = at(this.#pods.free, index) - 1;
    this.#gpu.free[index] = at(this.#gpu.free, index) - gpus;
  }

  fits(index: number, requests: PodRequests): boolean {
    return hasFree(index, this.#needsOf(requests));
  }

  #needsOf({ amounts }: PodRequests): readonly Need[] {
    const needs: Need[] = [{ column: this.#pods, amount: 1 }];
    for (const [resource, amount] of amounts)
      if (amount > 0) needs.push({ column: this.#columns.get(resource) ?? NO_COLUMN, amount: amount - ROUNDING });
    return needs;
  }

  hasGpus(index: number): boolean {
    return at(this.#gpu.whole, index) > 0;
  }

  /** Free CPUs of all nodes without GPUs. */
  freeCpusBesideGpus(): number {
    let free = 0;
    for (let index = 0; index < this.tiers.length; index++)
      if (!this.hasGpus(index)) free += Math.max(0, at(this.#cpu.free, index));
    return free;
  }

  /** What is free beside the pods that took room, in whole CPUs and GiB; undefined if another resource is used up. */
  spareRoom(index: number): SpareRoom | undefined {
    for (const [resource, { free }] of this.#columns) {
      if (resource === CPU || resource === MEMORY) continue;
      if (at(free, index) < (resource === PODS ? 1 : 0)) return undefined;
    }
    const spare = ({ free }: Column, unit: number): number => Math.max(0, Math.floor(at(free, index) / unit)) * unit;
    return { cpu: spare(this.#cpu, 1), memory: spare(this.#memory, GIB) };
  }

  /** Whether one more small pod fits: a core is free, and on a node with GPUs a GPU. */
  hasRoom(index: number): boolean {
    if (at(this.#pods.free, index) < 1 || at(this.#cpu.free, index) < 1) return false;
    return !this.hasGpus(index) || at(this.#gpu.free, index) >= 1;
  }

  /** The node of this tier that the pod fills best; -1 if it fits on none. `among` marks the nodes to search with 1. */
  bestFit(requests: PodRequests, nodes: NodeConstraint, tier: number, among?: Uint8Array): number {
    return this.#lowest(requests, nodes, tier, (index) => this.#remainder(index, requests), among);
  }

  /** The node of this tier whose use costs least; -1 if the pod fits on none. */
  cheapest(requests: PodRequests, nodes: NodeConstraint, tier: number): number {
    return this.#lowest(requests, nodes, tier, (index) => this.#useCost(index, requests));
  }

  /**
   * The candidate that has to free the least until the pod fits, measured in shares of the node; -1 if there is none. A node that
   * would have to free more than all of itself is too busy: waiting pods hold as much as it has. A pod without GPUs gets only a
   * node without GPUs.
   */
  nearest(requests: PodRequests, nodes: NodeConstraint, isCandidate: (index: number) => boolean): number {
    const admitted = this.#admittedBy(nodes);
    const needs = this.#needsOf(requests);
    let best = -1;
    let least = Infinity;
    for (let index = 0; index < admitted.length; index++) {
      if (this.tiers[index] === EXCLUDED || admitted[index] !== 1 || !isCandidate(index)) continue;
      if (requests.gpus === 0 && this.hasGpus(index)) continue;
      const missing = missingShare(index, needs);
      if (missing < least && missing <= 1) [best, least] = [index, missing];
    }
    return best;
  }

  fitsWhenEmpty(index: number, requests: PodRequests, nodes: NodeConstraint): boolean {
    return this.#admittedBy(nodes)[index] === 1 && missingShare(index, this.#needsOf(requests)) < Infinity;
  }

  /** All candidates that the pod fits on, cheapest first. */
  byCost(requests: PodRequests, nodes: NodeConstraint, isCandidate: (index: number) => boolean): number[] {
    const admitted = this.#admittedBy(nodes);
    const needs = this.#needsOf(requests);
    const costs = new Map<number, number>();
    for (let index = 0; index < this.tiers.length; index++) {
      if (this.tiers[index] === EXCLUDED || admitted[index] !== 1) continue;
      if (hasFree(index, needs) && isCandidate(index)) costs.set(index, this.#useCost(index, requests));
    }
    return Array.from(costs.keys()).toSorted((a, b) => (costs.get(a) ?? 0) - (costs.get(b) ?? 0) || a - b);
  }

  /** The candidate with room among `members` whose use costs least; -1 if none has room. */
  cheapestWithRoom(members: readonly number[], isCandidate: (index: number) => boolean): number {
    let best = -1;
    let least = Infinity;
    for (const index of members) {
      if (!isCandidate(index) || !this.hasRoom(index)) continue;
      const cost = this.#useCost(index, NO_REQUESTS);
      if (cost < least) [best, least] = [index, cost];
    }
    return best;
  }

  #lowest(
    requests: PodRequests,
    nodes: NodeConstraint,
    tier: number,
    scoreOf: (index: number) => number,
    among?: Uint8Array,
  ): number {
    const admitted = this.#admittedBy(nodes);
    const needs = this.#needsOf(requests);
    let best = -1;
    let least = Infinity;
    for (let index = 0; index < admitted.length; index++) {
      if (this.tiers[index] !== tier || admitted[index] !== 1 || !hasFree(index, needs)) continue;
      if (among !== undefined && among[index] !== 1) continue;
      const score = scoreOf(index);
      if (best === -1 || score < least) [best, least] = [index, score];
    }
    return best;
  }

  /** What the pod leaves free: GPUs first, then shares of CPU and memory. Pods without GPUs use nodes with GPUs last. */
  #remainder(index: number, { amounts, gpus }: PodRequests): number {
    const cpuLeft = shareLeft(this.#cpu, index, amounts.get(CPU) ?? 0);
    const memoryLeft = shareLeft(this.#memory, index, amounts.get(MEMORY) ?? 0);
    const shares = cpuLeft + memoryLeft;
    // The shares add up to at most 2, so one GPU more outweighs them.
    if (gpus > 0) return (at(this.#gpu.free, index) - gpus) * 2 + shares;
    return this.hasGpus(index) ? shares + GPUS_LAST : shares;
  }

  /** The watts that the use of a node costs once the pod runs. Pods without GPUs use nodes with GPUs last. */
  #useCost(index: number, { amounts, gpus }: PodRequests): number {
    const { fixed, cpu, gpu } = this.#costs[index] ?? FREE;
    const busyCpu = 1 - shareLeft(this.#cpu, index, amounts.get(CPU) ?? 0);
    const busyGpu = this.hasGpus(index) ? 1 - shareLeft(this.#gpu, index, gpus) : 0;
    const cost = fixed + cpu * busyCpu + gpu * busyGpu;
    return gpus === 0 && this.hasGpus(index) ? cost + GPUS_LAST : cost;
  }

  #admittedBy(nodes: NodeConstraint): Uint8Array {
    const cached = this.#admitted.get(nodes);
    if (cached !== undefined) return cached;
    const admitted = this.#admit(nodes);
    this.#admitted.set(nodes, admitted);
    return admitted;
  }

  /** Marks the nodes that the constraint admits with 1. */
  #admit(constraint: NodeConstraint): Uint8Array {
    const admitted = new Uint8Array(this.#nodes.length);
    const check = (index: number): void => {
      const { name, fit } = this.#nodes[index] ?? {};
      if (name === undefined || fit === undefined) return;
      const { labels, otherLabels, taints } = fit;
      const admits =
        admitsNode(constraint, { name, labels, taints }) ||
        (otherLabels !== undefined && admitsNode(constraint, { name, labels: otherLabels, taints }));
      if (admits) admitted[index] = 1;
    };
    const named = namedNodesOf(constraint);
    if (named === undefined) {
      for (let index = 0; index < admitted.length; index++) check(index);
      return admitted;
    }
    for (const name of named) {
      const index = this.#indexes.get(name);
      if (index !== undefined) check(index);
    }
    return admitted;
  }
}

interface Need {
  readonly column: Column;
  readonly amount: number;
}

/** Stands for a resource that the table does not count. No node has any of it. */
const NO_COLUMN: Column = { free: new Float64Array(0), whole: new Float64Array(0) };

function hasFree(index: number, needs: readonly Need[]): boolean {
  for (const { column, amount } of needs) if (at(column.free, index) < amount) return false;
  return true;
}

/** What the node lacks, as a share of what it has, added over the resources; infinite if it never has enough. */
function missingShare(index: number, needs: readonly Need[]): number {
  let missing = 0;
  for (const { column, amount } of needs) {
    const whole = at(column.whole, index);
    if (whole < amount) return Infinity;
    const lacking = amount - at(column.free, index);
    if (lacking > 0) missing += lacking / whole;
  }
  return missing;
}

const NO_REQUESTS: PodRequests = { amounts: new Map(), gpus: 0 };

const at = (column: Float64Array | Uint8Array, index: number): number => column[index] ?? 0;

/** The share of a resource that stays free, 0 to 1; 0 if the node has none. */
function shareLeft({ free, whole }: Column, index: number, amount: number): number {
  const all = at(whole, index);
  return all > 0 ? Math.min(1, Math.max(0, (at(free, index) - amount) / all)) : 0;
}
