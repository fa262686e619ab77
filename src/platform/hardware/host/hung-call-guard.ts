import type { Instant, Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** Calls run on libuv's four threads, which file access and name lookups use, too. Two at a time leave half of them free. */
const MAX_PARALLEL_CALLS = 2;

interface QueuedCall {
  readonly start: () => void;
  readonly reject: (reason: Error) => void;
}

interface AbandonedCall {
  readonly lane: string;
  readonly what: string;
  readonly since: Instant;
}

export interface GuardedCall<Result> {
  /** The driver, or one board. A hung call blocks only its own lane. */
  readonly lane: string;
  /** The name of the call, for messages. */
  readonly what: string;
  readonly limit: Milliseconds;
  readonly signal?: AbortSignal | undefined;
  readonly work: () => Promise<Result>;
}

/**
 * Runs driver calls that cannot be cancelled. A call that exceeds its time limit is abandoned: its caller gets an error, and its
 * lane stays closed until the call returns. Once abandoned calls occupy every slot, all new calls fail at once.
 */
export class HungCallGuard {
  readonly #clock: Clock;
  readonly #abandoned = new Set<AbandonedCall>();
  readonly #queue: QueuedCall[] = [];
  #freeSlots = MAX_PARALLEL_CALLS;
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a call is running, abandoned or not. */
  get busy(): boolean {
    return this.#running > 0;
  }

  /** Whether an abandoned call is still running. */
  get stuck(): boolean {
    return this.#abandoned.size > 0;
  }

  async run<Result>(call: GuardedCall<Result>): Promise<Result> {
    const { lane, what, limit, signal, work } = call;
    signal?.throwIfAborted();
    this.#refuseIfClosed(lane);
    await this.#takeSlot();
    const self: AbandonedCall = { lane, what, since: this.#clock.now() };
    let running: Promise<Result>;
    try {
      // The lane may have closed while this call was queued.
      this.#refuseIfClosed(lane);
      signal?.throwIfAborted();
      running = work();
      this.#running += 1;
    } catch (error) {
      this.#releaseSlot();
      throw error;
    }
    let returned = false;
    const abandoned = Promise.withResolvers<never>();
    const abandon = (reason: Error): void => {
      if (returned) return;
      this.#abandoned.add(self);
      this.#rejectQueued();
      abandoned.reject(reason);
    };
    const timer = this.#clock.after(limit, () => abandon(new Error(`${what} did not return within ${limit} ms`)), {
      background: true,
    });
    const abort = (): void => abandon(new Error(`${what} was abandoned by its caller`, { cause: signal?.reason }));
    signal?.addEventListener("abort", abort, { once: true });
    const settle = (): void => {
      returned = true;
      this.#running -= 1;
      this.#abandoned.delete(self);
      this.#releaseSlot();
    };
    running.then(settle, settle);
    try {
      return await Promise.race([running, abandoned.promise]);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
    }
  }

  #refuseIfClosed(lane: string): void {
    const abandoned = [...this.#abandoned];
    const blocking =
      abandoned.find((call) => call.lane === lane) ??
      (abandoned.length >= MAX_PARALLEL_CALLS ? abandoned[0] : undefined);
    if (blocking !== undefined) throw this.#refusal(blocking);
  }

  #refusal({ what, since }: AbandonedCall): Error {
    // A start time, not a duration: a message that changes on every tick would cause an API write on every tick.
    const started = new Date(since).toISOString().replace(/\.\d+Z$/, "Z");
    return new Error(`skipped: ${what} has not returned since ${started}; the driver hangs`);
  }

  async #takeSlot(): Promise<void> {
    if (this.#freeSlots > 0) {
      this.#freeSlots -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#queue.push({ start: turn.resolve, reject: turn.reject });
    await turn.promise;
  }

  #releaseSlot(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#freeSlots += 1;
    else next.start();
  }

  /** Rejects queued calls once every slot is held by an abandoned call, which may never return. */
  #rejectQueued(): void {
    const [blocking] = this.#abandoned;
    if (blocking === undefined || this.#abandoned.size < MAX_PARALLEL_CALLS) return;
    for (const { reject } of this.#queue.splice(0)) reject(this.#refusal(blocking));
  }
}
