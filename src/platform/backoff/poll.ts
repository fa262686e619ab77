import { elapsed, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import { type Backoff, backoffDelay } from "./backoff.ts";

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
