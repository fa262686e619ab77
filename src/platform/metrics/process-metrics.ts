import { milliseconds } from "../../core/units/index.ts";
import type { Clock, EventLoopDelay, EventLoopDelayStats } from "../clock/index.ts";
import { counter, gauge } from "./definition.ts";
import type { ProgramMetrics } from "./program-metrics.ts";

/** The part of `process` that is measured. */
interface MeasuredProcess {
  cpuUsage(): { readonly user: number; readonly system: number };
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
}

const LOOP_WINDOW = milliseconds(30_000);
const WINDOWS = "the worse of the last two windows of at least 30 s";

/** The metric names of other Prometheus clients, so that existing dashboards work. */
const definitions = {
  cpu: counter("process_cpu_seconds_total", "CPU time of this process, in seconds.", []),
  memory: gauge("process_resident_memory_bytes", "Resident memory of this process, in bytes.", []),
  start: gauge("process_start_time_seconds", "Start time of this process, in seconds since 1970.", []),
  heap: gauge("nodejs_heap_size_used_bytes", "Used heap of the JavaScript engine, in bytes.", []),
  p50: gauge("nodejs_eventloop_lag_p50_seconds", `Median event-loop delay, in seconds (${WINDOWS}).`, []),
  p99: gauge(
    "nodejs_eventloop_lag_p99_seconds",
    `99th percentile of the event-loop delay, in seconds (${WINDOWS}).`,
    [],
  ),
  longest: gauge("nodejs_eventloop_lag_max_seconds", `Maximum event-loop delay, in seconds (${WINDOWS}).`, []),
} as const;

/** The metrics of every program, for the reference page. */
export const processMetrics = Object.values(definitions);

interface MeasureOptions {
  readonly process: MeasuredProcess;
  readonly clock: Clock;
  /** Omitted if its wake-ups cost too much. */
  readonly eventLoop?: EventLoopDelay;
}

/** All values are read at the scrape. Between scrapes only the event-loop samples cost time. */
export function measureProcess(metrics: ProgramMetrics, { process, clock, eventLoop }: MeasureOptions): void {
  const started = clock.now() / 1000;
  metrics.reading(definitions.cpu, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.reading(definitions.memory, () => process.memoryUsage().rss);
  metrics.reading(definitions.start, () => started);
  metrics.reading(definitions.heap, () => process.memoryUsage().heapUsed);
  if (eventLoop === undefined) return;
  const figures = lastTwoWindows(eventLoop, clock);
  for (const which of ["p50", "p99", "longest"] as const) {
    metrics.reading(definitions[which], () => {
      const length = figures()?.[which];
      return length === undefined ? undefined : length / 1000;
    });
  }
}

/**
 * Two Prometheus servers may scrape in turn. If every scrape reset the monitor, each server would miss half of the delays. So
 * a window is reported for one more window after it ended, and both servers see every delay.
 */
function lastTwoWindows(eventLoop: EventLoopDelay, clock: Clock): () => EventLoopDelayStats | undefined {
  let before: EventLoopDelayStats | undefined;
  let since = clock.monotonic();
  return () => {
    if (clock.monotonic() - since >= LOOP_WINDOW) {
      before = eventLoop.read();
      since = clock.monotonic();
      eventLoop.reset();
    }
    const current = eventLoop.read();
    return before === undefined || current === undefined ? (current ?? before) : worse(before, current);
  };
}

const worse = (a: EventLoopDelayStats, b: EventLoopDelayStats): EventLoopDelayStats => ({
  p50: milliseconds(Math.max(a.p50, b.p50)),
  p99: milliseconds(Math.max(a.p99, b.p99)),
  longest: milliseconds(Math.max(a.longest, b.longest)),
});
