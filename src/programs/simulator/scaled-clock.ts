import {
  type Instant,
  instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../core/units/index.ts";
import type { Clock, Timer, TimerOptions } from "../../platform/clock/index.ts";

interface Waiting {
  readonly due: number;
  readonly callback: () => void;
  readonly options: TimerOptions | undefined;
  timer: Timer;
}

/**
 * Time that passes faster or slower than another clock's, and whose speed may change on the way: what has passed stays as it
 * was, and timers that wait are set anew. Its calendar begins where it is told to, or with the other clock's.
 */
export class ScaledClock implements Clock {
  readonly #base: Clock;
  readonly #waiting = new Set<Waiting>();
  readonly #calendar: number;
  #speed: number;
  #anchor: MonotonicInstant;
  #passed = 0;

  constructor(base: Clock, speed: number, start: Instant = base.now()) {
    this.#base = base;
    this.#speed = checked(speed);
    this.#calendar = start;
    this.#anchor = base.monotonic();
  }

  get speed(): number {
    return this.#speed;
  }

  set speed(speed: number) {
    const now = this.monotonic();
    this.#anchor = this.#base.monotonic();
    this.#passed = now;
    this.#speed = checked(speed);
    for (const waiting of this.#waiting) {
      waiting.timer.cancel();
      waiting.timer = this.#arm(waiting);
    }
  }

  now(): Instant {
    return instant(this.#calendar + this.monotonic());
  }

  monotonic(): MonotonicInstant {
    return monotonicInstant(this.#passed + (this.#base.monotonic() - this.#anchor) * this.#speed);
  }

  after(length: Milliseconds, callback: () => void, options?: TimerOptions): Timer {
    if (Number.isNaN(length)) throw new RangeError("a timer's length must be a number of milliseconds, got NaN");
    const due = this.monotonic() + Math.max(0, length);
    const waiting: Waiting = { due, callback, options, timer: NO_TIMER };
    waiting.timer = this.#arm(waiting);
    this.#waiting.add(waiting);
    return {
      cancel: () => {
        this.#waiting.delete(waiting);
        waiting.timer.cancel();
      },
    };
  }

  async sleep(length: Milliseconds, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    let stop: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = this.after(length, resolve);
        stop = () => {
          timer.cancel();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
      });
    } finally {
      if (stop !== undefined) signal?.removeEventListener("abort", stop);
    }
  }

  #arm(waiting: Waiting): Timer {
    const rest = milliseconds((waiting.due - this.monotonic()) / this.#speed);
    return this.#base.after(
      rest,
      () => {
        this.#waiting.delete(waiting);
        waiting.callback();
      },
      waiting.options,
    );
  }
}

const NO_TIMER: Timer = { cancel: () => undefined };

function checked(speed: number): number {
  if (!(speed > 0 && speed < Number.POSITIVE_INFINITY))
    throw new RangeError(`a clock's speed is above 0, got ${speed}`);
  return speed;
}
