import type { Clock } from "../../../platform/clock/index.ts";
import { shutdownTimes } from "./shutdown-times.ts";

/**
 * Aborts a grace period after `signal`. A driver call that is aborted may keep running, and until it returns nothing can be
 * restored on that board. Most calls return within the grace period.
 */
export function abortAfterGrace(signal: AbortSignal, clock: Clock): AbortSignal {
  const forceStop = new AbortController();
  const wait = () => void clock.after(shutdownTimes.grace, () => forceStop.abort(signal.reason), { background: true });
  if (signal.aborted) wait();
  else signal.addEventListener("abort", wait, { once: true });
  return forceStop.signal;
}

/** Awaits the work; rejects if the work does not return after `forceStop`. */
export async function rejectIfHung<Result>(
  work: Promise<Result>,
  forceStop: AbortSignal,
  clock: Clock,
): Promise<Result> {
  const over = Promise.withResolvers<never>();
  const hung = () => over.reject(new Error("aborted, but the call has not returned"));
  let stop = () => {};
  const wait = () => {
    const timer = clock.after(shutdownTimes.abort, hung);
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
