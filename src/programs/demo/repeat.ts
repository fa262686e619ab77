import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { type Clock, systemClock } from "../../platform/clock/index.ts";

/** Maximum share of time that a repeated task may take. */
const SHARE = 0.05;
/** Maximum delay in periods: one slow round must not postpone the next one for long. */
const LONGEST = 10;

/** Repeats a task until the signal aborts, less often if it takes long. */
export async function repeatEvery(
  period: Milliseconds,
  clock: Clock,
  signal: AbortSignal,
  act: () => void | Promise<void>,
): Promise<void> {
  for (let took = 0; !signal.aborted; ) {
    try {
      await clock.sleep(milliseconds(Math.min(LONGEST * period, Math.max(period, took / SHARE))), signal);
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

/** Runs a task with a time limit in real time. */
export async function withTimeLimit(length: Milliseconds, act: (limit: AbortSignal) => Promise<void>): Promise<void> {
  const limit = new AbortController();
  const timer = systemClock.after(length, () => limit.abort(new Error("time limit exceeded")));
  await act(limit.signal).finally(() => timer.cancel());
}
