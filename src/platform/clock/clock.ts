import type { Instant, Milliseconds, MonotonicInstant } from "../../core/units/index.ts";

/** The clock of a program: real, or virtual for simulations and tests. No other code reads the system time. */
export interface Clock {
  /** Wall-clock time, for time stamps only. It may jump in either direction when the machine's time is corrected. */
  now(): Instant;
  /** Monotonic time since an arbitrary start, for durations and deadlines. */
  monotonic(): MonotonicInstant;
  /**
   * Calls back once after `length` of monotonic time, never before `after` returns. A negative length counts as 0, an infinite
   * one never fires, and NaN throws a RangeError.
   */
  after(length: Milliseconds, callback: () => void, options?: TimerOptions): Timer;
  /** Like `after`, for `await`. An abort rejects at once with the signal's reason and leaves no timer behind. */
  sleep(length: Milliseconds, signal?: AbortSignal): Promise<void>;
}

export interface TimerOptions {
  /** Whether the process may exit while this timer is pending. */
  readonly background?: boolean;
}

export interface Timer {
  /** Has no effect after the timer fired or was cancelled. */
  cancel(): void;
}

/** Validates the length of a timer. NaN would cause a loop without a pause, so it throws. */
export function checkedTimerLength(length: Milliseconds): number {
  if (Number.isNaN(length)) throw new RangeError("a timer's length must be a number of milliseconds, got NaN");
  return Math.max(0, length);
}

/** The implementation of `sleep` for every clock that has `after`. */
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
    // A loop may sleep thousands of times on one signal, so each sleep removes its listener.
    if (stop !== undefined) signal?.removeEventListener("abort", stop);
  }
}

/** A clock that takes its time stamps from a calendar. Durations are those of `clock`. */
export const clockWithCalendar = (clock: Clock, calendar: Pick<Clock, "now">): Clock => ({
  now: () => calendar.now(),
  monotonic: () => clock.monotonic(),
  after: (length, callback, options) => clock.after(length, callback, options),
  sleep: async (length, signal) => clock.sleep(length, signal),
});
