import {
  type Instant,
  instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../core/units/index.ts";
import { type Clock, checkedTimerLength, sleepOn, type Timer, type TimerOptions } from "./clock.ts";

interface Waiting {
  readonly due: number;
  readonly callback: () => void;
  readonly options: TimerOptions | undefined;
  timer: Timer | undefined;
}

/**
 * A clock that runs faster or slower than another one. Its speed may change: past time is unaffected, and pending timers are
 * rescheduled. Its wall clock starts at a given time or at that of the other clock. Once time is granted to it, it stands still
 * when the last grant is used up, and that time is lost to it.
 */
export class ScaledClock implements Clock {
  readonly #base: Clock;
  readonly #waiting = new Set<Waiting>();
  readonly #calendar: number;
  #speed: number;
  #anchor: MonotonicInstant;
  #passed = 0;
  /** When the other clock reaches this time, this one stands still. */
  #grantEnds = Infinity;
  /** Timers of the other clock that fired while this one stood still. */
  readonly #held = new Set<Waiting>();

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
    const next = checked(speed);
    this.#settle();
    this.#speed = next;
    this.#held.clear();
    for (const waiting of this.#waiting) {
      waiting.timer?.cancel();
      this.#arm(waiting);
    }
  }

  /** Lets this clock go on for `length` of the other clock from now, and not further. */
  grant(length: Milliseconds): void {
    this.#settle();
    this.#grantEnds = this.#base.monotonic() + checkedTimerLength(length);
    const held = Array.from(this.#held);
    this.#held.clear();
    for (const waiting of held) this.#arm(waiting);
  }

  now(): Instant {
    return instant(this.#calendar + this.monotonic());
  }

  monotonic(): MonotonicInstant {
    const granted = Math.min(this.#base.monotonic(), this.#grantEnds);
    return monotonicInstant(this.#passed + Math.max(0, granted - this.#anchor) * this.#speed);
  }

  after(length: Milliseconds, callback: () => void, options?: TimerOptions): Timer {
    const waiting: Waiting = {
      due: this.monotonic() + checkedTimerLength(length),
      callback,
      options,
      timer: undefined,
    };
    this.#waiting.add(waiting);
    this.#arm(waiting);
    return {
      cancel: () => {
        this.#waiting.delete(waiting);
        this.#held.delete(waiting);
        waiting.timer?.cancel();
      },
    };
  }

  async sleep(length: Milliseconds, signal?: AbortSignal): Promise<void> {
    await sleepOn(this, length, signal);
  }

  /** For code that also waits for messages, which take real time: every pause but 0 lasts at least `shortest` of it. */
  patient(shortest: Milliseconds): Clock {
    const least = checkedTimerLength(shortest);
    const patient: Clock = {
      now: () => this.now(),
      monotonic: () => this.monotonic(),
      after: (length, callback, options) =>
        this.after(milliseconds(length > 0 ? Math.max(length, least * this.#speed) : length), callback, options),
      sleep: async (length, signal) => sleepOn(patient, length, signal),
    };
    return patient;
  }

  /** Counts the time that has passed at the speed until now. */
  #settle(): void {
    this.#passed = this.monotonic();
    this.#anchor = this.#base.monotonic();
  }

  #arm(waiting: Waiting): void {
    const rest = milliseconds((waiting.due - this.monotonic()) / this.#speed);
    const wake = () => {
      const isEarly = this.#grantEnds < Infinity && waiting.due - this.monotonic() > this.#speed;
      if (isEarly && this.#base.monotonic() >= this.#grantEnds) return void this.#held.add(waiting);
      if (isEarly) return this.#arm(waiting);
      this.#waiting.delete(waiting);
      waiting.callback();
    };
    waiting.timer = this.#base.after(rest, wake, waiting.options);
  }
}

function checked(speed: number): number {
  if (speed > 0 && speed < Infinity) return speed;
  throw new RangeError(`clock speed must be a number above 0, got ${speed}`);
}
