import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { type Clock, systemClock } from "../../platform/clock/index.ts";

/** The share of its time that something done in rounds may take. */
const SHARE = 0.05;
/** A round that was only interrupted must not keep the next away for long. */
const LONGEST = 10;

/** Does something over and over until the signal, and less often where it takes long. */
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

/** Looks again and again until it holds. */
export async function waitUntil(
  holds: () => boolean,
  period: Milliseconds,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!holds()) await clock.sleep(period, signal);
}

/** Does something that may not take longer, in real time. */
export async function withTimeLimit(length: Milliseconds, act: (limit: AbortSignal) => Promise<void>): Promise<void> {
  const limit = new AbortController();
  const timer = systemClock.after(length, () => limit.abort(new Error("it took too long")));
  await act(limit.signal).finally(() => timer.cancel());
}
