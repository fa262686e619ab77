import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "./clock.ts";

/** Maximum share of time that a repeated task may take. */
const SHARE = 0.05;
/** Maximum delay in periods: one slow round must not postpone the next one for long. */
const MAX_DELAY_IN_PERIODS = 10;

/** Repeats a task until the signal aborts, less often if it takes long. */
export async function repeatEvery(
  period: Milliseconds,
  clock: Clock,
  signal: AbortSignal,
  act: () => void | Promise<void>,
): Promise<void> {
  for (let took = 0; !signal.aborted; ) {
    try {
      await clock.sleep(milliseconds(Math.min(MAX_DELAY_IN_PERIODS * period, Math.max(period, took / SHARE))), signal);
    } catch {
      return;
    }
    const began = clock.monotonic();
    await act();
    took = clock.monotonic() - began;
  }
}

/** Polls until the condition holds. */
export async function waitUntil(
  holds: () => boolean,
  period: Milliseconds,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!holds()) await clock.sleep(period, signal);
}
