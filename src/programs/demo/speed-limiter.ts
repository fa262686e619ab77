import type { ScaledClock } from "../../platform/clock/index.ts";

/** How the process fared over the last second or so. */
export interface LoadSample {
  /** How late the event loop was for half of those who waited, in milliseconds. */
  readonly delay: number;
  /** For how long, in real seconds, the job has waited that the scheduler has not looked at for longest. */
  readonly unseen: number;
  /** The age of the oldest NodeTwin in units of the time after which it is refreshed; undefined where there is none. */
  readonly lateness: number | undefined;
}

/** Not a pause now and then, but work that queues: the next of it is always late. */
const TOO_LONG_MS = 50;
const TOO_LONG_UNSEEN = 3;
/** A refresh that is missing for half of its time again will not come in time. */
const TOO_LATE = 1.5;
/** One bad second is nothing: garbage is collected, a burst of jobs comes. */
const SECONDS_IN_A_ROW = 3;
/** What has queued up is still there after the speed was lowered: so much longer until that is blamed on the new one. */
const SECONDS_TO_CATCH_UP = 7;
const SLOWDOWN = 0.5;
/** Slower than this it cannot be seen to move. */
const SLOWEST = 0.25;

/** Lowers the clock's speed where this machine cannot hold it, and says so. It never raises it again. */
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
      lateness > TOO_LATE && `twins are refreshed late, by ${lateness.toFixed(1)} times their interval`,
      unseen > TOO_LONG_UNSEEN && `jobs wait for ${Math.round(unseen)} s until the scheduler looks at them`,
      delay > TOO_LONG_MS && `work waits for ${Math.round(delay)} ms`,
    ].find((reason) => reason !== false);
    this.#strained = why === undefined ? 0 : this.#strained + 1;
    if (why === undefined || this.#strained < SECONDS_IN_A_ROW) return;
    this.#strained = -SECONDS_TO_CATCH_UP;
    const speed = this.#clock.speed * SLOWDOWN;
    if (speed >= SLOWEST) {
      this.#clock.speed = speed;
      this.#say(`this machine does not hold speed ${speed / SLOWDOWN}: ${why}; going on at ${speed}`);
    } else if (!this.#tooSlow) {
      this.#tooSlow = true;
      this.#say(
        `this machine does not hold speed ${this.#clock.speed}, and slower makes no sense: ${why}; try fewer --nodes`,
      );
    }
  }
}
