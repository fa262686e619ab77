import { elapsed, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import { jittered, type RandomSource } from "../random/index.ts";

/** Exponential backoff: the delay doubles with every failure in a row, up to `longest`. */
export interface Backoff {
  readonly first: Milliseconds;
  readonly longest: Milliseconds;
  /** The delay varies by up to this share in either direction, so that many callers do not return at the same time. */
  readonly jitter?: number;
}

/** Avoids an infinite factor: 2^50 ms is 35,000 years. */
const MAX_DOUBLINGS = 50;

/** The delay after `failures` failures in a row. The first failure counts 1; 0 gives the first delay as well. */
export function backoffDelay(failures: number, backoff: Omit<Backoff, "jitter">): Milliseconds;
export function backoffDelay(failures: number, backoff: Backoff, random: RandomSource): Milliseconds;
export function backoffDelay(failures: number, backoff: Backoff, random?: RandomSource): Milliseconds {
  const { first, longest, jitter = 0 } = backoff;
  const doublings = Math.min(Math.max(0, failures - 1), MAX_DOUBLINGS);
  const delay = milliseconds(Math.min(first * 2 ** doublings, longest));
  return random === undefined ? delay : jittered(delay, jitter, random);
}

/** Asks until the condition holds, less and less often. Returns false if it does not hold within the time. */
export async function pollUntil(
  clock: Clock,
  { timeout, ...pauses }: Omit<Backoff, "jitter"> & { readonly timeout: Milliseconds },
  holds: () => Promise<boolean>,
): Promise<boolean> {
  const started = clock.monotonic();
  for (let asked = 1; ; asked++) {
    if (await holds()) return true;
    const rest = timeout - elapsed(started, clock.monotonic());
    if (rest <= 0) return false;
    await clock.sleep(milliseconds(Math.min(rest, backoffDelay(asked, pauses))));
  }
}
