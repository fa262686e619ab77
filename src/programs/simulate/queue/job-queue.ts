import type { JobKindRequest } from "../placement/job-kinds.ts";
import { TournamentTree } from "../placement/tournament-tree.ts";

/**
 * Jobs that wait, in the order they came. One that fits nowhere lets the next try, as kube-scheduler does; those of its kind
 * are not tried again before room was made that could hold them.
 */
export class JobQueue {
  readonly #kinds: readonly JobKindRequest[];
  readonly #waiting: number[][];
  readonly #heads: Int32Array;
  /** By −position in the trace, so that the best is the first that came. */
  readonly #turns: TournamentTree;
  readonly #blocked = new Set<number>();
  size = 0;
  performanceJobs = 0;

  constructor(kinds: readonly JobKindRequest[]) {
    this.#kinds = kinds;
    this.#waiting = kinds.map(() => []);
    this.#heads = new Int32Array(kinds.length);
    this.#turns = new TournamentTree(kinds.length);
    this.#turns.rebuild();
  }

  add(job: number, kind: number): void {
    const waiting = this.#waiting[kind] as number[];
    waiting.push(job);
    this.size++;
    if (this.#kinds[kind]?.performance === true) this.performanceJobs++;
    if (!this.#blocked.has(kind)) this.#takeTurn(kind);
  }

  /** The kind whose turn it is; −1 = nobody's. */
  next(): number {
    return this.#turns.best();
  }

  /** The first of that kind leaves the queue. */
  take(kind: number): number {
    const waiting = this.#waiting[kind] as number[];
    const head = this.#heads[kind] as number;
    const job = waiting[head] as number;
    this.#heads[kind] = head + 1;
    this.size--;
    if (this.#kinds[kind]?.performance === true) this.performanceJobs--;
    if (head + 1 === waiting.length) {
      waiting.length = 0;
      this.#heads[kind] = 0;
    }
    this.#takeTurn(kind);
    return job;
  }

  /** No node has room for that kind. */
  block(kind: number): void {
    this.#blocked.add(kind);
    this.#turns.set(kind, Number.NEGATIVE_INFINITY);
  }

  /** Room was made that some kinds may fit into. */
  unblock(fits: (kind: JobKindRequest) => boolean): void {
    for (const kind of this.#blocked) {
      if (!fits(this.#kinds[kind] as JobKindRequest)) continue;
      this.#blocked.delete(kind);
      this.#takeTurn(kind);
    }
  }

  #takeTurn(kind: number): void {
    const first = this.#waiting[kind]?.[this.#heads[kind] as number];
    this.#turns.set(kind, first === undefined ? Number.NEGATIVE_INFINITY : -first);
  }
}
