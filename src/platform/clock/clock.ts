import type { Instant, Milliseconds, MonotonicInstant } from "../../core/units/index.ts";

/** Time as a program sees it: real, or virtual for the simulator and for tests. Nothing else in the project asks the system. */
export interface Clock {
  /** What the calendar says. It may jump either way when the machine's time is corrected; for time stamps only. */
  now(): Instant;
  /** Time since some start that never steps back: for measuring lengths and for deadlines. */
  monotonic(): MonotonicInstant;
  /**
   * Calls back once when `length` has passed on the monotonic time, never before `after` returns. A negative length counts as
   * zero, an infinite one never ends, and NaN is refused with a RangeError.
   */
  after(length: Milliseconds, callback: () => void, options?: TimerOptions): Timer;
  /** As `after`, for `await`. An abort ends it at once: it rejects with the signal's reason and leaves no timer behind. */
  sleep(length: Milliseconds, signal?: AbortSignal): Promise<void>;
}

export interface TimerOptions {
  /** The process may end while this timer still waits. */
  readonly background?: boolean;
}

export interface Timer {
  /** Does nothing once the timer has called back or was cancelled. */
  cancel(): void;
}

/** A length a timer can wait for. NaN would be a loop without a pause: better to stop where it was made. */
export function checkedTimerLength(length: Milliseconds): number {
  if (Number.isNaN(length)) throw new RangeError("a timer's length must be a number of milliseconds, got NaN");
  return Math.max(0, length);
}

/** The one way to sleep, for every clock that has `after`. */
export async function sleepOn(clock: Pick<Clock, "after">, length: Milliseconds, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  let stop: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = clock.after(length, resolve);
      stop = () => {
        timer.cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  } finally {
    // A loop sleeps thousands of times on one signal: each sleep takes its listener with it.
    if (stop !== undefined) signal?.removeEventListener("abort", stop);
  }
}
