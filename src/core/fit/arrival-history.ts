import type { NodeConstraint, PodPool, PodRequests, PodSummary } from "../demand/index.ts";
import { type Instant, type Milliseconds, milliseconds } from "../units/index.ts";
import { type PodGroup, podSize } from "./pod-groups.ts";

/**
 * How long a pending performance pod waits for a promoted node: the watch, a planning pass, the writes, the scheduler's next
 * try and one tick of the agent. Pods that arrive within this time have to fit on nodes that are performance already.
 */
export const PROMOTION_TIME: Milliseconds = milliseconds(30_000);

const DAY = 86_400_000;
/** Different shapes that a slot stores. Pods of further shapes count like those of the last one. */
const MAX_SHAPES = 16;

interface CountedShape {
  readonly requests: PodRequests;
  readonly nodes: NodeConstraint;
  count: number;
}

interface Slot {
  readonly groups: CountedShape[];
  /** Cores in the CPU pool, GPUs in the GPU pool. */
  size: number;
  largest: PodGroup;
  largestSize: number;
}

type Slots = Map<number, Slot>;

/** The contents of a history, for storage. Slots are numbered since 1970. */
export interface RecordedArrivals {
  readonly slot: Milliseconds;
  /** Slots from this one on are not contained. */
  readonly end: number;
  readonly slots: Readonly<Record<PodPool, readonly (readonly [slot: number, groups: readonly PodGroup[]])[]>>;
}

/**
 * The pods that arrived during the last day, in slots of time. Its size is bounded. After a restart the operator reads the
 * arrival times of the pods that still exist from the pods themselves; `restore` adds those that are gone.
 */
export class ArrivalHistory {
  readonly #slot: Milliseconds;
  readonly #slots: Readonly<Record<PodPool, Slots>> = { cpu: new Map(), gpu: new Map() };
  /** Pods of earlier slots came from storage. */
  #restoredBefore = -Infinity;

  constructor(slot: Milliseconds = PROMOTION_TIME) {
    this.#slot = slot;
  }

  /** Records a pod once, when it is first seen. Pods without constraints, requests or a time are ignored. */
  record({ createdAt, requests, nodes }: Pick<PodSummary, "createdAt" | "requests" | "nodes">): void {
    if (createdAt === undefined || requests === undefined || nodes === undefined) return;
    const slot = this.#slotOf(createdAt);
    if (slot >= this.#restoredBefore) this.#add(slot, { requests, nodes, count: 1 });
  }

  #add(slot: number, { requests, nodes, count }: PodGroup): void {
    const slots = this.#slots[requests.gpus > 0 ? "gpu" : "cpu"];
    const one: PodGroup = { requests, nodes, count: 1 };
    let found = slots.get(slot);
    if (found === undefined) {
      if (slots.size >= 2 * this.#slotsPerDay) this.#forgetOldest(slots);
      slots.set(slot, (found = { groups: [], size: 0, largest: one, largestSize: podSize(one) }));
    }
    const { groups } = found;
    if (podSize(one) > found.largestSize) Object.assign(found, { largest: one, largestSize: podSize(one) });
    const same = groups.find((group) => group.requests === requests && group.nodes === nodes);
    const group = same ?? (groups.length < MAX_SHAPES ? undefined : groups.at(-1));
    const { requests: counted } = group ?? { requests };
    found.size += count * (counted.gpus > 0 ? counted.gpus : (counted.amounts.get("cpu") ?? 0));
    if (group === undefined) groups.push({ requests, nodes, count });
    else group.count += count;
  }

  /**
   * The pods to keep room for: those of the window at this quantile, by cores in the CPU pool and by GPUs in the GPU pool. A
   * window is as long as given, in whole slots; by default one slot. Windows without arrivals count from the first arrival on,
   * for at most a day.
   */
  reserve(quantile: number, now: Instant, lengths?: Readonly<Record<PodPool, Milliseconds>>): readonly PodGroup[] {
    return (["gpu", "cpu"] as const).flatMap((pool) => this.#reserveIn(pool, quantile, now, lengths?.[pool]));
  }

  #reserveIn(pool: PodPool, quantile: number, now: Instant, length = this.#slot): readonly PodGroup[] {
    const perWindow = Math.max(1, Math.ceil(length / this.#slot));
    const last = Math.floor(this.#slotOf(now) / perWindow);
    const first = last - Math.max(1, Math.floor(this.#slotsPerDay / perWindow)) + 1;
    let earliest = last;
    const sizes = new Map<number, number>();
    for (const [slot, { size }] of this.#slots[pool]) {
      const window = Math.floor(slot / perWindow);
      // A time ahead of the clock does not count yet.
      if (window < first || window > last) continue;
      earliest = Math.min(earliest, window);
      sizes.set(window, (sizes.get(window) ?? 0) + size);
    }
    const observed = last - earliest + 1;
    const rank = Math.min(observed, Math.ceil(quantile * observed));
    const place = rank - (observed - sizes.size) - 1;
    if (!(place >= 0)) return [];
    const chosen = windowAt(sizes, place);
    const slots = Array.from({ length: perWindow }, (_, index) => this.#slots[pool].get(chosen * perWindow + index));
    return merged(slots.flatMap((slot) => slot?.groups ?? []));
  }

  /** The largest pod of each pool that arrived during the last day. */
  largest(now: Instant): readonly PodGroup[] {
    const last = this.#slotOf(now);
    return (["gpu", "cpu"] as const).flatMap((pool) => {
      let most: Slot | undefined;
      for (const [slot, entry] of this.#slots[pool]) {
        if (slot <= last - this.#slotsPerDay || slot > last) continue;
        if (most === undefined || entry.largestSize > most.largestSize) most = entry;
      }
      return most?.largest ?? [];
    });
  }

  /** For storage: all slots that are certainly complete. */
  recorded(now: Instant): RecordedArrivals {
    const end = this.#slotOf(now) - LATE_SLOTS;
    const first = end - this.#slotsPerDay;
    const complete = (slots: Slots) =>
      Array.from(slots, ([slot, { groups }]) => [slot, groups] as const)
        .filter(([slot]) => slot >= first && slot < end)
        .toSorted(([a], [b]) => a - b);
    return { slot: this.#slot, end, slots: { cpu: complete(this.#slots.cpu), gpu: complete(this.#slots.gpu) } };
  }

  /** Replaces everything before the end of what was stored. Contents with another slot length are ignored. */
  restore({ slot: length, end, slots }: RecordedArrivals): void {
    if (length !== this.#slot) return;
    for (const pool of ["cpu", "gpu"] as const) {
      for (const slot of this.#slots[pool].keys()) if (slot < end) this.#slots[pool].delete(slot);
      for (const [slot, groups] of slots[pool]) if (slot < end) for (const group of groups) this.#add(slot, group);
    }
    this.#restoredBefore = Math.max(this.#restoredBefore, end);
  }

  get #slotsPerDay(): number {
    return Math.ceil(DAY / this.#slot);
  }

  #slotOf(at: Instant): number {
    return Math.floor(at / this.#slot);
  }

  #forgetOldest(slots: Slots): void {
    const old = Array.from(slots.keys()).toSorted((a, b) => a - b);
    for (const slot of old.slice(0, old.length - this.#slotsPerDay)) slots.delete(slot);
  }
}

/** A pod may be seen this many slots after it was created. */
const LATE_SLOTS = 2;

/** The window at this place if all are ordered by size; of equal sizes the earlier window comes first. */
function windowAt(sizes: ReadonlyMap<number, number>, place: number): number {
  const ordered = Float64Array.from(sizes.values()).toSorted();
  const size = ordered[place] ?? 0;
  const equal = Array.from(sizes.keys()).filter((window) => sizes.get(window) === size);
  return equal.toSorted((a, b) => a - b)[place - ordered.indexOf(size)] ?? 0;
}

function merged(groups: readonly PodGroup[]): readonly PodGroup[] {
  const all: CountedShape[] = [];
  for (const { requests, nodes, count } of groups) {
    const same = all.find((group) => group.requests === requests && group.nodes === nodes);
    if (same === undefined) all.push({ requests, nodes, count });
    else same.count += count;
  }
  return all;
}
