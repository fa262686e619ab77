import { type Seconds, seconds } from "../../core/units/index.ts";

const BUSY = 0.5;
/** The speed is lowered after this many bad seconds; the load counts if it was high in any of them. */
const SECONDS_LOOKED_BACK = 3;

/**
 * The simulated time by which a run is evaluated. If a busy machine forced a lower speed, it is the time that has
 * passed. If the speed was lowered although threads were idle, it is the time that would have passed at full speed: a
 * program that blocks the others must not excuse itself with the slowdown it caused.
 */
export class EvaluatedTime {
  #loads: readonly number[] = [];
  #excused = false;

  /** Called once a second with the load of the busiest thread and whether the speed was just lowered. */
  observe(load: number, lowered: boolean): void {
    this.#loads = [load, ...this.#loads].slice(0, SECONDS_LOOKED_BACK);
    if (lowered && Math.max(...this.#loads) >= BUSY) this.#excused = true;
  }

  of(passed: Seconds, atSpeedAsked: Seconds): Seconds {
    return seconds(this.#excused ? passed : Math.max(passed, atSpeedAsked));
  }
}
