import type { WriteOutcome } from "../../../core/control/index.ts";
import {
  elapsed,
  formatDuration,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

interface FailedWrite {
  readonly failures: number;
  readonly until: MonotonicInstant;
  readonly outcome: WriteOutcome;
  /** The requested value; a different value is tried at once. */
  readonly requested: number | undefined;
}

/** Number of failures before the backoff begins. */
const FREE_ATTEMPTS = 3;
const BACKOFF = { first: milliseconds(60_000), longest: milliseconds(600_000) };

/** Delays writes that keep failing, with increasing waits: a locked register never accepts them. */
export class WriteBackoff {
  readonly #clock: Clock;
  readonly #failures = new Map<string, FailedWrite>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  recordFailure(name: string, outcome: WriteOutcome, requested?: number): void {
    const before = this.#failures.get(name);
    const failures = (before?.requested === requested ? (before?.failures ?? 0) : 0) + 1;
    const wait = failures < FREE_ATTEMPTS ? 0 : backoffDelay(failures - FREE_ATTEMPTS + 1, BACKOFF);
    this.#failures.set(name, { failures, until: monotonicInstant(this.#clock.monotonic() + wait), outcome, requested });
  }

  recordSuccess(name: string): void {
    this.#failures.delete(name);
  }

  /** The last outcome, while the write must wait; undefined if it may be tried. */
  suppressedOutcome(name: string, requested?: number): WriteOutcome | undefined {
    const failed = this.#failures.get(name);
    if (failed === undefined || failed.requested !== requested || this.#clock.monotonic() >= failed.until)
      return undefined;
    const { result, message } = failed.outcome;
    const every = formatDuration(BACKOFF.longest);
    return {
      result,
      message: [message, `retried within ${every}`].filter((part) => part !== undefined).join("; "),
    };
  }
}

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
