import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

const MOST_REASSERTS = 5;
const WITHIN = milliseconds(3_600_000);

/** Counts how often somebody undid what was set: now and then it is set again; what is undone again and again is a fight. */
export class ConflictingWriters {
  readonly #clock: Clock;
  readonly #undone = new Map<string, readonly MonotonicInstant[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody has undone it once more: how to say that it is set again, or undefined where it is to be left alone for now. */
  recordConflict(name: string): string | undefined {
    const now = this.#clock.monotonic();
    const before = (this.#undone.get(name) ?? []).filter((at) => elapsed(at, now) < WITHIN);
    if (before.length >= MOST_REASSERTS) return undefined;
    this.#undone.set(name, [...before, now]);
    return `set again, ${before.length + 1} of ${MOST_REASSERTS} times an hour`;
  }

  forget(name: string): void {
    this.#undone.delete(name);
  }
}

export const NOT_REASSERTED = "it is not set again for now: stop that program, or route control elsewhere";
