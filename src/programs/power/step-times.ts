import type { PowerOperation } from "../../core/api/index.ts";
import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";

interface ObservedStep {
  readonly stepAt: string | undefined;
  readonly age: number;
  readonly at: MonotonicInstant;
}

/**
 * How long the current step of each node has lasted. The API has the wall-clock time of its beginning. It counts once, when this
 * process first sees the step; then the monotonic clock counts. A wall clock that is set must neither cut power early nor keep a
 * node tainted for hours.
 */
export class StepTimes {
  readonly #clock: Clock;
  readonly #steps = new Map<string, ObservedStep>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  forget(name: string): void {
    this.#steps.delete(name);
  }

  /** 0 without an operation, and for a step that begins in the future. */
  since(name: string, operation: PowerOperation | undefined): Milliseconds {
    if (operation === undefined) {
      this.forget(name);
      return milliseconds(0);
    }
    const { stepAt } = operation;
    const at = this.#clock.monotonic();
    let step = this.#steps.get(name);
    if (step === undefined || step.stepAt !== stepAt) {
      const now = this.#clock.now();
      step = { stepAt, age: Math.max(0, now - (Date.parse(stepAt ?? "") || now)), at };
      this.#steps.set(name, step);
    }
    return milliseconds(step.age + elapsed(step.at, at));
  }
}
