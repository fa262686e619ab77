import type { JobKindRequest } from "../placement/job-kinds.ts";

/** Waiting jobs in arrival order. One that does not fit lets others pass; its kind is retried once room is freed. */
export class JobQueue {
  readonly #kinds: readonly JobKindRequest[];
  readonly #waiting: number[][];
  readonly #heads: Int32Array;
  readonly #blocked = new Set<number>();
  size = 0;

  constructor(kinds: readonly JobKindRequest[]) {
    this.#kinds = kinds;
    this.#waiting = kinds.map(() => []);
    this.#heads = new Int32Array(kinds.length);
  }

  add(job: number, kind: number): void {
    const waiting = this.#waiting[kind] as number[];
    waiting.push(job);
    this.size++;
  }

  /** The kind of the earliest job that is not blocked; −1 = none. */
  next(): number {
    let next = -1;
    let earliest = Infinity;
    for (const [kind, waiting] of this.#waiting.entries()) {
      const job = waiting[this.#heads[kind] as number];
      if (job === undefined || job >= earliest || this.#blocked.has(kind)) continue;
      next = kind;
      earliest = job;
    }
    return next;
  }

  /** Removes the first job of that kind. */
  take(kind: number): number {
    const waiting = this.#waiting[kind] as number[];
    const head = this.#heads[kind] as number;
    const job = waiting[head] as number;
    this.#heads[kind] = head + 1;
    this.size--;
    if (head + 1 === waiting.length) {
      waiting.length = 0;
      this.#heads[kind] = 0;
    }
    return job;
  }

  /** Marks a kind as not fitting on any node. */
  block(kind: number): void {
    this.#blocked.add(kind);
  }

  unblock(fits: (kind: JobKindRequest) => boolean): void {
    for (const kind of this.#blocked) {
      if (fits(this.#kinds[kind] as JobKindRequest)) this.#blocked.delete(kind);
    }
  }
}
