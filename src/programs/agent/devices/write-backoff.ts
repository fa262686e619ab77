import type { WriteOutcome } from "../../../core/control/index.ts";
import { formatDuration, type MonotonicInstant, milliseconds, monotonicInstant } from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

interface FailedWrite {
  readonly failures: number;
  readonly until: MonotonicInstant;
  readonly outcome: WriteOutcome;
  /** What was to be written: something else is tried at once. */
  readonly asked: number | undefined;
}

/** What fails once may pass; what fails so often does not change within a tick. */
const TRIED_AT_ONCE = 3;
const BACKOFF = { first: milliseconds(60_000), longest: milliseconds(600_000) };

/** Writes that fail again and again are tried less and less often: a locked register answers the same for ever. */
export class WriteBackoff {
  readonly #clock: Clock;
  readonly #of = new Map<string, FailedWrite>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  recordFailure(name: string, outcome: WriteOutcome, asked?: number): void {
    const before = this.#of.get(name);
    const failures = (before?.asked === asked ? (before?.failures ?? 0) : 0) + 1;
    const rest = failures < TRIED_AT_ONCE ? 0 : backoffDelay(failures - TRIED_AT_ONCE + 1, BACKOFF);
    this.#of.set(name, { failures, until: monotonicInstant(this.#clock.monotonic() + rest), outcome, asked });
  }

  recordSuccess(name: string): void {
    this.#of.delete(name);
  }

  /** The last outcome, in place of another try; undefined when it may be tried. */
  suppressedOutcome(name: string, asked?: number): WriteOutcome | undefined {
    const trouble = this.#of.get(name);
    if (trouble === undefined || trouble.asked !== asked || this.#clock.monotonic() >= trouble.until) return undefined;
    const { result, message } = trouble.outcome;
    const every = formatDuration(BACKOFF.longest);
    return {
      result,
      message: [message, `it is tried again within ${every}`].filter((word) => word !== undefined).join("; "),
    };
  }
}
