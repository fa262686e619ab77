import type { JobKindRequest } from "../placement/job-kinds.ts";
import { TournamentTree } from "../placement/tournament-tree.ts";

/**
 * Waiting jobs in arrival order. A job that does not fit lets others pass, as in kube-scheduler. Its kind is retried
 * only after resources were freed that could fit it.
 */
export class JobQueue {
  readonly #kinds: readonly JobKindRequest[];
  readonly #waiting: number[][];
  readonly #heads: Int32Array;
  /** Scores are negative trace positions, so the earliest job wins. */
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

  /** The kind of the next job to try; −1 = none. */
  next(): number {
    return this.#turns.best();
  }

  /** Removes the first job of that kind. */
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

  /** Marks a kind as not fitting on any node. */
  block(kind: number): void {
    this.#blocked.add(kind);
    this.#turns.set(kind, Number.NEGATIVE_INFINITY);
  }

  /** Retries blocked kinds that may fit now. */
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
