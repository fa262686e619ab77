import process from "node:process";

/** Aborted by Ctrl-C or a stop signal. A second Ctrl-C ends the process at once. */
export function untilInterrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

/** The result of the work; rejects as soon as the signal aborts, also if the work hangs. */
export async function endedBy<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
