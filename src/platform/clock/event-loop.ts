import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";

/** How late the event loop was for those who waited, since the last reset. */
export interface EventLoopDelayStats {
  readonly p50: Milliseconds;
  readonly p99: Milliseconds;
  readonly longest: Milliseconds;
}

/** A watch over how long the event loop lets work wait. */
export interface EventLoopDelay {
  /** undefined until there is a sample. */
  read(): EventLoopDelayStats | undefined;
  /** Forgets; the wait that is under way counts neither before nor after. */
  reset(): void;
  stop(): void;
}

/**
 * Samples the loop every `resolution`; it does not keep the process alive. Each sample wakes the process: 10 ms costs about half
 * a percent of a core, 100 ms a tenth of that, so a program that should sleep leaves it out.
 */
export function eventLoopDelay(resolution: Milliseconds): EventLoopDelay {
  if (!(resolution >= 1 && resolution <= 60_000)) {
    throw new RangeError(`the event loop can be sampled every 1 to 60000 ms, not every ${resolution}`);
  }
  const period = Math.round(resolution);
  const histogram = monitorEventLoopDelay({ resolution: period });
  histogram.enable();
  // Node records the time from one sample to the next, of which the period itself is no delay.
  const late = (nanoseconds: number): Milliseconds => milliseconds(Math.max(0, nanoseconds / 1e6 - period));
  return {
    read: () =>
      histogram.count === 0
        ? undefined
        : { p50: late(histogram.percentile(50)), p99: late(histogram.percentile(99)), longest: late(histogram.max) },
    reset: () => histogram.reset(),
    stop: () => void histogram.disable(),
  };
}
