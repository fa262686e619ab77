import type { JobKindRequest } from "./job-kinds.ts";

/** The nodes that fit one kind of job. */
export interface FittingNodes {
  /** Looks at every node. */
  rebuild(): void;
  /** Looks at one that has changed. */
  update(node: number): void;
  /** −1 = no node fits. */
  pick(): number;
}

interface CacheEntry {
  readonly kind: number;
  readonly field: FittingNodes;
  /** Up to where this field knows what has changed. */
  epoch: number;
  seen: number;
}

/** As many fields as are kept: a trace of more kinds of jobs takes turns. At 2,500 nodes each is about 110 kB. */
const MAX_CACHED = 512;

/**
 * A field for every kind of job, brought up to date when it is asked. What has changed is kept as a list since the last time
 * that everything did; a field goes through what it missed, or looks at every node where that is less.
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

  /** Every node may have changed. */
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
