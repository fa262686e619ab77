import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

/** For what is under way when the agent is to end. */
const GRACE = milliseconds(5000);
/** For what was broken off to notice it. */
const UNWINDING = milliseconds(1000);

/**
 * Comes a while after the signal to end. A driver's call that is broken off may run on, and as long as it does nothing can be
 * restored on that board: most calls are over within the grace.
 */
export function abortAfterGrace(signal: AbortSignal, clock: Clock): AbortSignal {
  const forceStop = new AbortController();
  const wait = () => void clock.after(GRACE, () => forceStop.abort(signal.reason), { background: true });
  if (signal.aborted) wait();
  else signal.addEventListener("abort", wait, { once: true });
  return forceStop.signal;
}

/** The work's end; it fails where the work does not end though it was broken off. */
export async function rejectIfHung<Result>(
  work: Promise<Result>,
  forceStop: AbortSignal,
  clock: Clock,
): Promise<Result> {
  const over = Promise.withResolvers<never>();
  const hung = () => over.reject(new Error("it was broken off and does not end"));
  let stop = () => {};
  const wait = () => {
    const timer = clock.after(UNWINDING, hung);
    stop = () => timer.cancel();
  };
  if (forceStop.aborted) wait();
  else forceStop.addEventListener("abort", wait, { once: true });
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    stop();
    forceStop.removeEventListener("abort", wait);
  }
}
