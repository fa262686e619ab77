import process from "node:process";

/** Aborted by Ctrl-C or a stop signal. A second Ctrl-C ends the process at once. */
export function untilInterrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}
