import type { JobKindRequest } from "../../src/programs/simulate/placement/job-kinds.ts";

/** The nodes that fit one kind of job. */
export interface FittingNodes {
  /** Evaluates every node. */
  rebuild(): void;
  /** Evaluates one changed node. */
  update(node: number): void;
  /** Returns −1 if no node fits. */
  pick(): number;
}

interface CacheEntry {
  readonly kind: number;
  readonly field: FittingNodes;
  /** Position in the change log up to which this entry is current. */
  epoch: number;
  seen: number;
}

/** Maximum number of cached entries; further job kinds share slots. At 2,500 nodes an entry takes about 110 kB. */
const MAX_CACHED = 512;

/**
 * Caches the fitting nodes for every kind of job and updates them on access. A change log since the last full
 * invalidation lists changed nodes. An entry replays what it missed, or rebuilds if that is cheaper.
 */
export class CandidateCache {
  readonly #kinds: readonly JobKindRequest[];
  readonly #make: (kind: JobKindRequest) => FittingNodes;
  readonly #kept: (CacheEntry | undefined)[];
  readonly #changes: Int32Array;
  readonly #muchChanged: number;
  #count = 0;
  #epoch = 0;

  constructor(kinds: readonly JobKindRequest[], nodes: number, make: (kind: JobKindRequest) => FittingNodes) {
    this.#kinds = kinds;
    this.#make = make;
    this.#kept = Array.from({ length: Math.min(kinds.length, MAX_CACHED) });
    this.#changes = new Int32Array(4 * nodes);
    this.#muchChanged = nodes / 2;
  }

  /** Marks every node as changed. */
  invalidateAll(): void {
    this.#epoch++;
    this.#count = 0;
  }

  changed(node: number): void {
    if (this.#count === this.#changes.length) this.invalidateAll();
    else this.#changes[this.#count++] = node;
  }

  pick(kind: number): number {
    const place = kind % this.#kept.length;
    let kept = this.#kept[place];
    if (kept?.kind !== kind) {
      const field = this.#make(this.#kinds[kind] as JobKindRequest);
      this.#kept[place] = kept = { kind, field, epoch: -1, seen: 0 };
    }
    const { field } = kept;
    if (kept.epoch !== this.#epoch || this.#count - kept.seen > this.#muchChanged) field.rebuild();
    else for (let at = kept.seen; at < this.#count; at++) field.update(this.#changes[at] as number);
    kept.epoch = this.#epoch;
    kept.seen = this.#count;
    return field.pick();
  }
}
