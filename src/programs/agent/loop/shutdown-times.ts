import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

/** How long each step of an agent's shutdown may take, in their order. Kubernetes gives a pod 30 s by default. */
export const shutdownTimes = {
  /** A running tick ends by itself. */
  grace: milliseconds(5000),
  /** An aborted tick returns. */
  abort: milliseconds(1000),
  restore: milliseconds(12_000),
  report: milliseconds(5000),
  /** The journal of original limits reaches the disk. */
  flush: milliseconds(2000),
  close: milliseconds(2000),
} as const;

/** The chart rejects a termination grace period that does not cover it. */
export const maxShutdown: Milliseconds = milliseconds(
  Object.values(shutdownTimes).reduce<number>((sum, length) => sum + length, 0),
);

/** Aborts a grace period after `signal`: until an aborted driver call returns, nothing can be restored on its board. */
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
