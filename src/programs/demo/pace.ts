import type { ScaledClock } from "../../platform/clock/index.ts";

/** How the process fared over the last second or so. */
export interface Strain {
  /** Of that time, the share in which the event loop had something to do, 0 to 1. */
  readonly busy: number;
  /** The age of the oldest NodeTwin in units of the time after which it is refreshed; undefined where there is none. */
  readonly lateness: number | undefined;
}

/** Above it work begins to queue, and answers come later than the clock's speed allows for. */
const TOO_BUSY = 0.95;
/** A refresh that is missing for half of its time again will not come in time. */
const TOO_LATE = 1.5;
/** One bad second is nothing: garbage is collected, a burst of jobs comes. */
const SECONDS_IN_A_ROW = 3;
const SLOWDOWN = 0.5;
/** Slower than this it cannot be seen to move. */
const SLOWEST = 0.25;

/** Lowers the clock's speed where this machine cannot hold it, and says so. It never raises it again. */
export class Pace {
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

  observe({ busy, lateness = 0 }: Strain): void {
    const why =
      lateness > TOO_LATE
        ? `twins are refreshed late, by ${lateness.toFixed(1)} times their interval`
        : busy > TOO_BUSY
          ? `the process is ${Math.round(busy * 100)} % busy`
          : undefined;
    this.#strained = why === undefined ? 0 : this.#strained + 1;
    if (why === undefined || this.#strained < SECONDS_IN_A_ROW) return;
    this.#strained = 0;
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
