import { type Seconds, seconds } from "../../core/units/index.ts";

const BUSY = 0.5;
/** A speed is lowered after as many bad seconds; in one of them the load may have been elsewhere. */
const SECONDS_LOOKED_BACK = 3;

/**
 * By how much simulated time a run is judged. Where a busy machine had to go slower, by what has passed. Where threads were
 * idle and the speed was lowered all the same, by what would have passed: a program that keeps others waiting must not be
 * excused by the time that this has cost.
 */
export class EvaluatedTime {
  #loads: readonly number[] = [];
  #excused = false;

  /** Once a second: how busy the busiest thread was, and whether the speed was lowered at the end of it. */
  observe(load: number, lowered: boolean): void {
    this.#loads = [load, ...this.#loads].slice(0, SECONDS_LOOKED_BACK);
    if (lowered && Math.max(...this.#loads) >= BUSY) this.#excused = true;
  }

  of(passed: Seconds, atSpeedAsked: Seconds): Seconds {
    return seconds(this.#excused ? passed : Math.max(passed, atSpeedAsked));
  }
}
