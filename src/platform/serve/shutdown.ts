import type { Logger } from "../log/index.ts";

/** The exit code of a program that was ended by a signal: 128 plus the signal number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
/** The terminal was closed, or the reader of a pipe has exited. */
const HANGUP = "SIGHUP";
type StopSignal = keyof typeof EXIT_CODES | typeof HANGUP;
const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", HANGUP];

/** The part of `process` that is used here. */
export interface SignalledProcess {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  exit(code: number): unknown;
}

export interface UntilStopped {
  /** Aborted when the program should shut down. The reason is an Error that names the signal. */
  readonly signal: AbortSignal;
  /** Restores the default behaviour of the signals. */
  release(): void;
}

/**
 * The first signal starts a graceful shutdown. A second SIGTERM or SIGINT exits at once. A second SIGHUP does not, because the shell
 * and the terminal each send one.
 */
export function untilStopped(process: SignalledProcess, log: Logger): UntilStopped {
  const stop = new AbortController();
  const onSignal = (signal: StopSignal): void => {
    if (stop.signal.aborted) {
      if (signal === HANGUP) return;
      log.warn({ signal }, "second signal: exiting at once");
      process.exit(EXIT_CODES[signal]);
      return;
    }
    log.info({ signal }, "shutting down; signal again to force exit");
    stop.abort(new Error(`stopped by ${signal}`));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    signal: stop.signal,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}

export const untilAborted = async (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
