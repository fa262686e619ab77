import type { Logger } from "../log/index.ts";

/** What a shell tells of a program that a signal ended: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
/** Nobody looks on any more: the terminal is closed, or the reader of a pipe has left. */
const HANGUP = "SIGHUP";
type StopSignal = keyof typeof EXIT_CODES | typeof HANGUP;
const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", HANGUP];

/** What is asked of `process`. */
export interface SignalledProcess {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  exit(code: number): unknown;
}

export interface UntilStopped {
  /** Aborted when the program should come to its end; the reason is an Error that names the signal. */
  readonly signal: AbortSignal;
  /** Signals end the process again as they would without us. */
  release(): void;
}

/**
 * The first signal asks the program to end in good order; a SIGTERM or SIGINT after it ends it at once. A SIGHUP never does:
 * shell and terminal both send one, and nobody who is impatient does.
 */
export function untilStopped(process: SignalledProcess, log: Logger): UntilStopped {
  const stop = new AbortController();
  const hear = (signal: StopSignal): void => {
    if (stop.signal.aborted) {
      if (signal === HANGUP) return;
      log.warn({ signal }, "stopped for the second time: ending at once");
      process.exit(EXIT_CODES[signal]);
      return;
    }
    log.info({ signal }, "stopping; once more ends at once");
    stop.abort(new Error(`stopped by ${signal}`));
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return {
    signal: stop.signal,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, hear);
    },
  };
}
