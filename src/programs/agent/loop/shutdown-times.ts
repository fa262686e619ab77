import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";

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
