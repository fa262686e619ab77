import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";

export interface EventLoopDelayStats {
  readonly p50: Milliseconds;
  readonly p99: Milliseconds;
  readonly longest: Milliseconds;
}

export interface EventLoopDelay {
  /** undefined until there is a sample. */
  read(): EventLoopDelayStats | undefined;
  /** Resets the statistics. The delay in progress is not counted. */
  reset(): void;
  stop(): void;
}

/**
 * Samples the event loop every `resolution` without keeping the process alive. Each sample wakes the process: 10 ms costs about
 * 0.5 % of a core, 100 ms a tenth of that. Programs that should sleep do not use it.
 */
export function eventLoopDelay(resolution: Milliseconds): EventLoopDelay {
  if (!(resolution >= 1 && resolution <= 60_000)) {
    throw new RangeError(`the event loop can be sampled every 1 to 60000 ms, not every ${resolution}`);
  }
  const period = Math.round(resolution);
  const histogram = monitorEventLoopDelay({ resolution: period });
  histogram.enable();
  // Node records the time between two samples; the sampling period itself is not a delay.
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
