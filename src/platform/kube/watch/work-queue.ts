import { type Milliseconds, type MonotonicInstant, milliseconds, monotonicInstant } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import type { Logger } from "../../log/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { type Backoff, waitAfter, waitAsked } from "../client/retry.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** What is done for a key. It looks at the state as it is then, so being told twice is being told once. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  readonly concurrency?: number;
  readonly backoff?: Backoff;
}

const BACKOFF: Backoff = { first: milliseconds(100), longest: milliseconds(60_000) };
const LONGEST_RETRY_AFTER = milliseconds(120_000);

/**
 * Keys that need work. A key waits once however often it is added, is never worked on twice at the same time, and comes
 * back later and later while it fails. Added anew meanwhile it does not wait: that is news, and may be the remedy. Only a
 * wait the server asked for is waited to its end.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  /** Added while being worked on: due again as soon as that is over. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #later = new Map<string, { readonly due: MonotonicInstant; readonly timer: Timer }>();
  /** Forgotten while being worked on: whatever comes of it, it does not come back by itself. */
  readonly #forgotten = new Set<string>();
  /** Until when the server does not want to hear of a key. */
  readonly #sentAway = new Map<string, MonotonicInstant>();
  readonly #stop = new AbortController();
  #idle: (() => void)[] = [];
  #closed = false;
  #beginning = false;

  constructor(options: WorkQueueOptions) {
    const { concurrency = 1 } = options;
    if (!(concurrency >= 1))
      throw new RangeError(`a work queue works on at least one key at a time, got ${concurrency}`);
    this.#options = options;
  }

  /** Keys that wait, now or for later, or are being worked on. */
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

  /** Adds after a while, unless it is added sooner: of two times the earlier one counts. */
  addAfter(key: string, length: Milliseconds): void {
    if (this.#closed || this.#waiting.has(key)) return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    const due = monotonicInstant(Math.max(now + length, this.#sentAway.get(key) ?? now));
    if ((this.#later.get(key)?.due ?? Number.POSITIVE_INFINITY) <= due) return;
    this.#cancelLater(key);
    const timer = clock.after(milliseconds(due - now), () => {
      this.#later.delete(key);
      this.add(key);
    });
    this.#later.set(key, { due, timer });
  }

  /** The key is no longer of interest: it does not come back, and its failures are forgotten. */
  forget(key: string): void {
    this.#cancelLater(key);
    this.#waiting.delete(key);
    this.#again.delete(key);
    this.#failures.delete(key);
    this.#sentAway.delete(key);
    if (this.#working.has(key)) this.#forgotten.add(key);
    this.#settle();
  }

  /** Takes nothing more, does what waits now, and resolves when all of it was tried. What only waits for a retry is left. */
  async drain(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#later.values()) timer.cancel();
    this.#later.clear();
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      this.#settle();
    });
  }

  /** As `drain`, but what waits is dropped and what is being done is told to end. */
  async stop(): Promise<void> {
    this.#waiting.clear();
    this.#again.clear();
    this.#stop.abort(new Error("the work queue was stopped"));
    await this.drain();
  }

  #enqueue(key: string): void {
    const rest = (this.#sentAway.get(key) ?? 0) - this.#options.clock.monotonic();
    if (rest > 0) {
      this.addAfter(key, milliseconds(rest));
      return;
    }
    this.#sentAway.delete(key);
    this.#cancelLater(key);
    this.#waiting.add(key);
    this.#begin();
  }

  /** Not within `add`: whoever adds a key is not held up by the work, and what is added in one go counts once. */
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
    const asked = waitAsked(error, LONGEST_RETRY_AFTER, random);
    if (asked > 0) this.#sentAway.set(key, monotonicInstant(clock.monotonic() + asked));
    const wait = milliseconds(Math.max(asked, waitAfter(failures, backoff, random)));
    log.debug({ key, failures, wait, err: error }, "work failed; it comes back later");
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
