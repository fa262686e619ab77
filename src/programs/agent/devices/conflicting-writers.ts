import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

const MAX_REASSERTS = 5;
const WITHIN = milliseconds(3_600_000);

/** Counts how often another program changed a limit back. The agent writes it again a few times an hour, then backs off. */
export class ConflictingWriters {
  readonly #clock: Clock;
  readonly #undone = new Map<string, readonly MonotonicInstant[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a conflict. Returns the message about writing it again, or undefined if the agent backs off for now. */
  recordConflict(name: string): string | undefined {
    const now = this.#clock.monotonic();
    const before = (this.#undone.get(name) ?? []).filter((at) => elapsed(at, now) < WITHIN);
    if (before.length >= MAX_REASSERTS) return undefined;
    this.#undone.set(name, [...before, now]);
    return `set again, ${before.length + 1} of ${MAX_REASSERTS} times per hour`;
  }

  forget(name: string): void {
    this.#undone.delete(name);
  }
}

export const NOT_REASSERTED = "it is not set again for now: stop that program, or route control elsewhere";
