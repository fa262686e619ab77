import type { ScaledClock } from "../../platform/clock/index.ts";

export interface LoadSample {
  /** Median event-loop delay in milliseconds. */
  readonly delay: number;
  /** Longest time a job has been waiting for its first scheduling attempt, in real seconds. */
  readonly unseen: number;
  /** Age of the oldest NodeTwin divided by its refresh interval; undefined without twins. */
  readonly lateness: number | undefined;
  /** The first jobs are not placed yet: nothing is measured, so the next second already shows the new speed. */
  readonly isStarting?: boolean;
  readonly reached?: number;
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

/** Seconds without strain after which the speed is doubled. It takes twice as long each time that a doubling was too much. */
const CALM_SECONDS = 10;
const MAX_CALM_SECONDS = 160;
/** Strain within this time after a doubling is due to it. */
const TRIAL_SECONDS = 30;
/** Below this share of the speed, programs are late, and more speed would not help. */
const REACHED = 0.9;

/** Halves the clock's speed when this machine cannot keep up, and reports it; doubles it again when it can. */
export class SpeedLimiter {
  readonly #clock: ScaledClock;
  readonly #say: (text: string) => void;
  readonly requestedSpeed: number;
  #strained = 0;
  #calm = 0;
  #calmNeeded = CALM_SECONDS;
  #sinceRaised = Infinity;
  #tooSlow = false;

  constructor(clock: ScaledClock, say: (text: string) => void, asked: number = clock.speed) {
    this.#clock = clock;
    this.#say = say;
    this.requestedSpeed = asked;
  }

  observe({ delay, unseen, lateness = 0, isStarting = false, reached = 1 }: LoadSample): void {
    const why = [
      lateness > TOO_LATE && `the oldest twin is ${lateness.toFixed(1)} refresh intervals old`,
      unseen > TOO_LONG_UNSEEN && `jobs wait ${Math.round(unseen)} s for their first scheduling attempt`,
      delay > TOO_LONG_MS && `the median event-loop delay is ${Math.round(delay)} ms`,
    ].find((reason) => reason !== false);
    this.#strained = why === undefined ? 0 : this.#strained + 1;
    this.#calm = why === undefined && !isStarting && reached >= REACHED ? this.#calm + 1 : 0;
    this.#sinceRaised++;
    if (this.#calm >= this.#calmNeeded) this.#raise();
    if (why === undefined || this.#strained < SECONDS_IN_A_ROW) return;
    this.#strained = isStarting ? 0 : -SECONDS_TO_CATCH_UP;
    if (this.#sinceRaised < TRIAL_SECONDS) this.#calmNeeded = Math.min(MAX_CALM_SECONDS, 2 * this.#calmNeeded);
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

  #raise(): void {
    if (this.#clock.speed >= this.requestedSpeed) return;
    this.#calm = 0;
    this.#sinceRaised = 0;
    this.#clock.speed = Math.min(this.requestedSpeed, this.#clock.speed / SLOWDOWN);
  }
}
