import {
  type Instant,
  instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../../core/units/index.ts";
import { type Clock, checkedTimerLength, sleepOn, type Timer } from "../clock.ts";
import { TimerQueue, type WaitingTimer } from "./timers.ts";

/** More timers at one point in time indicate an endless loop. */
const MAX_CONCURRENT = 1_000_000;

/** Captured at load, so that a test that replaces the global timers does not stop this clock. */
const afterMicrotasks = setImmediate;

/** A clock that moves only when it is advanced. Tests and simulations run fast and deterministically. */
export class VirtualClock implements Clock {
  readonly #timers = new TimerQueue();
  #elapsed = 0;
  #calendar: number;
  #registered = 0;

  constructor(start: Instant = instant(0)) {
    this.#calendar = start;
  }

  now(): Instant {
    return instant(this.#calendar + this.#elapsed);
  }

  monotonic(): MonotonicInstant {
    return monotonicInstant(this.#elapsed);
  }

  after(length: Milliseconds, callback: () => void): Timer {
    const timer = { due: this.#elapsed + checkedTimerLength(length), order: this.#registered++, callback, place: -1 };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.remove(timer) };
  }

  async sleep(length: Milliseconds, signal?: AbortSignal): Promise<void> {
    await sleepOn(this, length, signal);
  }

  /** Number of pending timers. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Time until the next timer, so that a simulation can jump from event to event; undefined if there is none. */
  get untilNext(): Milliseconds | undefined {
    const next = this.#timers.next;
    return next && milliseconds(Math.max(0, next.due - this.#elapsed));
  }

  /**
   * Advances the time and runs all due timers, by time and then by registration, including those registered meanwhile. Errors of
   * callbacks are thrown here. Promises continue only after it returned: see advanceAsync.
   */
  advance(length: Milliseconds): void {
    const end = this.#endOf(length);
    for (const timer of this.#dueUntil(end)) timer.callback();
    this.#elapsed = Math.max(this.#elapsed, end);
  }

  /**
   * Like `advance`, but lets pending promises continue before and after each timer, so that a loop that awaits `sleep` runs as
   * often as in real time. It does not wait for real input or output.
   */
  async advanceAsync(length: Milliseconds): Promise<void> {
    const end = this.#endOf(length);
    await settled();
    for (const timer of this.#dueUntil(end)) {
      timer.callback();
      await settled();
    }
    this.#elapsed = Math.max(this.#elapsed, end);
  }

  /** Moves the wall clock, backwards with a negative length, like a time correction. Timers are not affected. */
  step(length: Milliseconds): void {
    if (!Number.isFinite(length)) throw new RangeError(`the wall clock steps by a finite length, got ${length}`);
    this.#calendar += length;
  }

  *#dueUntil(end: number): Generator<WaitingTimer, void, undefined> {
    let atOnce = 0;
    for (let timer = this.#timers.next; timer !== undefined && timer.due <= end; timer = this.#timers.next) {
      this.#timers.remove(timer);
      atOnce = timer.due > this.#elapsed ? 0 : atOnce + 1;
      if (atOnce > MAX_CONCURRENT) {
        throw new Error(`${MAX_CONCURRENT} timers ran at ${this.#elapsed} ms: a loop keeps waiting 0 ms`);
      }
      // A callback may have advanced the time itself.
      this.#elapsed = Math.max(this.#elapsed, timer.due);
      yield timer;
    }
  }

  #endOf(length: Milliseconds): number {
    if (!(length >= 0 && length < Infinity)) {
      throw new RangeError(`time advances by a finite length of zero or more, got ${length}`);
    }
    return this.#elapsed + length;
  }
}

/** Resolves when no promise can continue without a timer or external input. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => {
    afterMicrotasks(resolve);
  });
}
