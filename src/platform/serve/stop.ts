import type { Logger } from "../log/index.ts";

/** What a shell tells of a program that a signal ended: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof EXIT_CODES;
const SIGNALS = Object.keys(EXIT_CODES) as StopSignal[];

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

/** The first SIGTERM or SIGINT asks the program to end in good order; the second one ends it at once. */
export function untilStopped(process: SignalledProcess, log: Logger): UntilStopped {
  const stop = new AbortController();
  const hear = (signal: StopSignal): void => {
    if (stop.signal.aborted) {
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
