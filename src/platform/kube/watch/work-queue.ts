import { type Milliseconds, type MonotonicInstant, milliseconds, monotonicInstant } from "../../../core/units/index.ts";
import type { Backoff } from "../../backoff/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import type { Logger } from "../../log/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { waitAfter, waitAsked } from "../client/errors.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** Processes a key. It reads the current state, so duplicate adds can be merged. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  readonly concurrency?: number;
  readonly backoff?: Backoff;
}

const BACKOFF: Backoff = { first: milliseconds(100), longest: milliseconds(60_000) };
const MAX_RETRY_AFTER = milliseconds(120_000);

/**
 * A deduplicating work queue. A key is queued once however often it is added, is never processed concurrently, and is
 * retried with exponential backoff. Adding it again skips the backoff, because a change may fix the failure. Only a
 * server's Retry-After is always respected.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  /** Added while being processed: queued again afterwards. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #later = new Map<string, { readonly due: MonotonicInstant; readonly timer: Timer }>();
  /** Forgotten while being processed: not retried on failure. */
  readonly #forgotten = new Set<string>();
  readonly #retryAfterUntil = new Map<string, MonotonicInstant>();
  readonly #stop = new AbortController();
  #idle: (() => void)[] = [];
  #closed = false;
  #beginning = false;

  constructor(options: WorkQueueOptions) {
    const { concurrency = 1 } = options;
    if (!(concurrency >= 1)) throw new RangeError(`concurrency must be at least 1, got ${concurrency}`);
    this.#options = options;
  }

  /** The number of queued, delayed and active keys. */
  get size(): number {
    return new Set([...this.#waiting, ...this.#later.keys(), ...this.#working, ...this.#again]).size;
  }

  add(key: string): void {
    if (this.#closed) return;
    this.#forgotten.delete(key);
    if (this.#working.has(key)) {
      this.#cancelLater(key);
      this.#again.add(key);
    } else this.#enqueue(key);
  }

  /** Adds the key after a delay; the earliest of several times wins. */
  addAfter(key: string, length: Milliseconds): void {
    if (this.#closed || this.#waiting.has(key)) return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    const due = monotonicInstant(Math.max(now + length, this.#retryAfterUntil.get(key) ?? now));
    if ((this.#later.get(key)?.due ?? Infinity) <= due) return;
    this.#cancelLater(key);
    const timer = clock.after(milliseconds(due - now), () => {
      this.#later.delete(key);
      this.add(key);
    });
    this.#later.set(key, { due, timer });
  }

  /** Removes the key, its retries and its failure count. */
  forget(key: string): void {
    this.#cancelLater(key);
    this.#waiting.delete(key);
    this.#again.delete(key);
    this.#failures.delete(key);
    this.#retryAfterUntil.delete(key);
    if (this.#working.has(key)) this.#forgotten.add(key);
    this.#settle();
  }

  /** Rejects new keys, processes the queued ones once, and drops pending retries. */
  async drain(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#later.values()) timer.cancel();
    this.#later.clear();
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      this.#settle();
    });
  }

  /** Like `drain`, but drops queued keys and aborts active work. */
  async stop(): Promise<void> {
    this.#waiting.clear();
    this.#again.clear();
    this.#stop.abort(new Error("the work queue was stopped"));
    await this.drain();
  }

  #enqueue(key: string): void {
    const rest = (this.#retryAfterUntil.get(key) ?? 0) - this.#options.clock.monotonic();
    if (rest > 0) {
      this.addAfter(key, milliseconds(rest));
      return;
    }
    this.#retryAfterUntil.delete(key);
    this.#cancelLater(key);
    this.#waiting.add(key);
    this.#begin();
  }

  /** Starts in a microtask, so that `add` returns immediately and synchronous adds are merged. */
  #begin(): void {
    if (this.#beginning) return;
    this.#beginning = true;
    queueMicrotask(() => {
      this.#beginning = false;
      this.#next();
    });
  }

  #next(): void {
    const { concurrency = 1 } = this.#options;
    for (const key of this.#waiting) {
      if (this.#working.size >= concurrency) return;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    try {
      await this.#options.work(key, this.#stop.signal);
      this.#failures.delete(key);
    } catch (error) {
      this.#failed(key, error);
    }
    this.#working.delete(key);
    this.#forgotten.delete(key);
    if (this.#again.delete(key)) this.#enqueue(key);
    this.#next();
    this.#settle();
  }

  #failed(key: string, error: unknown): void {
    if (this.#stop.signal.aborted || this.#forgotten.has(key)) return;
    const { clock, random, log, backoff = BACKOFF } = this.#options;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const asked = waitAsked(error, MAX_RETRY_AFTER, random);
    if (asked > 0) this.#retryAfterUntil.set(key, monotonicInstant(clock.monotonic() + asked));
    const wait = milliseconds(Math.max(asked, waitAfter(failures, backoff, random)));
    log.debug({ key, attempt: failures, wait, err: error }, "work failed; retrying later");
    this.addAfter(key, wait);
  }

  #cancelLater(key: string): void {
    this.#later.get(key)?.timer.cancel();
    this.#later.delete(key);
  }

  #settle(): void {
    if (this.#waiting.size > 0 || this.#working.size > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
