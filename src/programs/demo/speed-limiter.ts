import type { ScaledClock } from "../../platform/clock/index.ts";

/** Load of the process over about the last second. */
export interface LoadSample {
  /** Median event-loop delay in milliseconds. */
  readonly delay: number;
  /** Longest time a job has been waiting for its first scheduling attempt, in real seconds. */
  readonly unseen: number;
  /** Age of the oldest NodeTwin divided by its refresh interval; undefined without twins. */
  readonly lateness: number | undefined;
}

/** A median this high means a permanent backlog, not a single pause. */
const TOO_LONG_MS = 50;
const TOO_LONG_UNSEEN = 3;
/** A twin half an interval overdue will not be refreshed in time. */
const TOO_LATE = 1.5;
/** Tolerates single bad seconds, such as garbage collection or a burst of jobs. */
const SECONDS_IN_A_ROW = 3;
/** Additional seconds to clear the backlog before the new speed is evaluated. */
const SECONDS_TO_CATCH_UP = 7;
const SLOWDOWN = 0.5;
/** Below this the view would hardly move. */
const SLOWEST = 0.25;

/** Halves the clock's speed when this machine cannot keep up, and reports it. It never raises the speed again. */
export class SpeedLimiter {
  readonly #clock: ScaledClock;
  readonly #say: (text: string) => void;
  readonly asked: number;
  #strained = 0;
  #tooSlow = false;

  constructor(clock: ScaledClock, say: (text: string) => void) {
    this.#clock = clock;
    this.#say = say;
    this.asked = clock.speed;
  }

  observe({ delay, unseen, lateness = 0 }: LoadSample): void {
    const why = [
      lateness > TOO_LATE && `the oldest twin is ${lateness.toFixed(1)} refresh intervals old`,
      unseen > TOO_LONG_UNSEEN && `jobs wait ${Math.round(unseen)} s for their first scheduling attempt`,
      delay > TOO_LONG_MS && `the median event-loop delay is ${Math.round(delay)} ms`,
    ].find((reason) => reason !== false);
    this.#strained = why === undefined ? 0 : this.#strained + 1;
    if (why === undefined || this.#strained < SECONDS_IN_A_ROW) return;
    this.#strained = -SECONDS_TO_CATCH_UP;
    const speed = this.#clock.speed * SLOWDOWN;
    if (speed >= SLOWEST) {
      this.#clock.speed = speed;
      this.#say(`this machine cannot keep up with speed ${speed / SLOWDOWN}: ${why}; continuing at ${speed}`);
    } else if (!this.#tooSlow) {
      this.#tooSlow = true;
      this.#say(
        `this machine cannot keep up even at the minimum speed ${this.#clock.speed}: ${why}; use fewer --nodes`,
      );
    }
  }
}
