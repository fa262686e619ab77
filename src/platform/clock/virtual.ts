import {
  type Instant,
  instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../core/units/index.ts";
import { type Clock, sleepOn, type Timer, checkedTimerLength } from "./clock.ts";
import { TimerQueue, type WaitingTimer } from "./timers.ts";

/** More timers than this at one point of time are a loop that waits for nothing. */
const MOST_AT_ONCE = 1_000_000;

/** Taken at load, so that a test that replaces the global timers does not stop this clock. */
const afterMicrotasks = setImmediate;

/** Time that stands still until it is told to move: a day passes in a moment, and the same way each time. */
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

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** How long until the next timer is due, so that a simulation can jump from event to event; undefined when none waits. */
  get untilNext(): Milliseconds | undefined {
    const next = this.#timers.next;
    return next && milliseconds(Math.max(0, next.due - this.#elapsed));
  }

  /**
   * Moves time on and runs what falls due on the way, in order of time and then of registration, each at its own time; also
   * what those callbacks register. What they throw comes out here. Promises go on only after it returned: see advanceAsync.
   */
  advance(length: Milliseconds): void {
    const end = this.#endOf(length);
    for (const timer of this.#dueUntil(end)) timer.callback();
    this.#elapsed = Math.max(this.#elapsed, end);
  }

  /**
   * As `advance`, and lets every promise that can go on do so before and after each timer: a loop that awaits `sleep` runs as
   * often as it would in real time. It does not wait for real input or output.
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

  /** Sets the calendar forward, or back with a negative length, as a time correction does; timers do not notice. */
  step(length: Milliseconds): void {
    if (!Number.isFinite(length)) throw new RangeError(`the calendar steps by a finite length, got ${length}`);
    this.#calendar += length;
  }

  *#dueUntil(end: number): Generator<WaitingTimer, void, undefined> {
    let atOnce = 0;
    for (let timer = this.#timers.next; timer !== undefined && timer.due <= end; timer = this.#timers.next) {
      this.#timers.remove(timer);
      atOnce = timer.due > this.#elapsed ? 0 : atOnce + 1;
      if (atOnce > MOST_AT_ONCE) {
        throw new Error(`${MOST_AT_ONCE} timers ran at ${this.#elapsed} ms: something waits 0 ms over and over again`);
      }
      // A callback may itself have moved the time on.
      this.#elapsed = Math.max(this.#elapsed, timer.due);
      yield timer;
    }
  }

  #endOf(length: Milliseconds): number {
    if (!(length >= 0 && length < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`time moves on by a finite length of zero or more, got ${length}`);
    }
    return this.#elapsed + length;
  }
}

/** Resolves when no promise can go on any more without time or the world moving. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => {
    afterMicrotasks(resolve);
  });
}
