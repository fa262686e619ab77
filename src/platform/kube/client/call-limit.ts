import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import { ApiError } from "./errors.ts";

export interface CallLimitOptions {
  readonly clock: Clock;
  readonly perSecond: number;
  /** Maximum burst after an idle period. */
  readonly burst: number;
  /** Maximum number of waiting calls; further calls are rejected immediately. */
  readonly queue: number;
}

interface Waiter {
  readonly go: () => void;
}

/** A FIFO token bucket that limits this program's load on the shared API server. */
export class CallLimit {
  readonly #options: CallLimitOptions;
  readonly #waiters = new Set<Waiter>();
  #tokens: number;
  #countedAt: MonotonicInstant;
  #timer: Timer | undefined;

  constructor(options: CallLimitOptions) {
    const { perSecond, burst, queue } = options;
    if (!(perSecond > 0) || !(burst >= 1) || !(queue >= 0)) {
      throw new RangeError(
        `a call limit needs perSecond > 0, burst >= 1, queue >= 0; got ${perSecond}, ${burst}, ${queue}`,
      );
    }
    this.#options = options;
    this.#tokens = burst;
    this.#countedAt = options.clock.monotonic();
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Returns undefined when the call may proceed immediately, which avoids an event-loop turn in the common case. */
  take(signal?: AbortSignal, longest?: Milliseconds): Promise<void> | undefined {
    return this.tryTake() ? undefined : this.#wait(signal, longest);
  }

  /** Takes a token without waiting. */
  tryTake(): boolean {
    this.#count();
    if (this.#waiters.size > 0 || this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  async #wait(signal: AbortSignal | undefined, longest: Milliseconds | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#waiters.size >= this.#options.queue) {
      throw busy(`${this.#waiters.size} calls are already waiting for the client's rate limit`);
    }
    let stop: (() => void) | undefined;
    let deadline: Timer | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { go: resolve };
        const leave = (reason: unknown) => {
          this.#waiters.delete(waiter);
          reject(reason);
        };
        stop = () => leave(signal?.reason);
        if (longest !== undefined) {
          const late = () => leave(busy(`no slot in the client's rate limit within ${longest} ms`));
          deadline = this.#options.clock.after(longest, late);
        }
        signal?.addEventListener("abort", stop, { once: true });
        this.#waiters.add(waiter);
        this.#arm();
      });
    } finally {
      deadline?.cancel();
      if (stop !== undefined) signal?.removeEventListener("abort", stop);
    }
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#waiters.size === 0) return;
    const missing = Math.max(0, 1 - this.#tokens);
    this.#timer = this.#options.clock.after(milliseconds((missing / this.#options.perSecond) * 1000), () => {
      this.#timer = undefined;
      this.#count();
      this.#admit();
      this.#arm();
    });
  }

  #admit(): void {
    for (const waiter of this.#waiters) {
      // Tolerates rounding errors, to avoid another timer.
      if (this.#tokens < 1 - 1e-9) break;
      this.#tokens--;
      this.#waiters.delete(waiter);
      waiter.go();
    }
  }

  #count(): void {
    const now = this.#options.clock.monotonic();
    const gained = ((now - this.#countedAt) / 1000) * this.#options.perSecond;
    this.#tokens = Math.min(this.#options.burst, this.#tokens + gained);
    this.#countedAt = now;
  }
}

const busy = (message: string): ApiError => new ApiError("busy", message, { notDone: true });
