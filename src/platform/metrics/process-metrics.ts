import { milliseconds } from "../../core/units/index.ts";
import type { Clock, EventLoopDelayStats, EventLoopDelay } from "../clock/index.ts";
import { metric } from "./definition.ts";
import type { ProgramMetrics } from "./program-metrics.ts";

/** What is asked of `process`. */
export interface MeasuredProcess {
  cpuUsage(): { readonly user: number; readonly system: number };
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
}

const LOOP_WINDOW = milliseconds(30_000);
const WINDOWS = "the worse of the last two stretches of 30 s or more";

/** Names as other Prometheus clients have them, so that ready-made dashboards work. */
const definitions = {
  cpu: metric({
    name: "process_cpu_seconds_total",
    help: "Processor time of this process, in seconds.",
    type: "counter",
    labels: [],
  }),
  memory: metric({
    name: "process_resident_memory_bytes",
    help: "Memory of this process that is in RAM, in bytes.",
    type: "gauge",
    labels: [],
  }),
  start: metric({
    name: "process_start_time_seconds",
    help: "When this program started, in seconds since 1970.",
    type: "gauge",
    labels: [],
  }),
  heap: metric({
    name: "nodejs_heap_size_used_bytes",
    help: "JavaScript objects in memory, in bytes.",
    type: "gauge",
    labels: [],
  }),
  p50: metric({
    name: "nodejs_eventloop_lag_p50_seconds",
    help: `Half of the time work waited at most this long for the event loop, in seconds (${WINDOWS}).`,
    type: "gauge",
    labels: [],
  }),
  p99: metric({
    name: "nodejs_eventloop_lag_p99_seconds",
    help: `99 times of 100 work waited at most this long for the event loop, in seconds (${WINDOWS}).`,
    type: "gauge",
    labels: [],
  }),
  longest: metric({
    name: "nodejs_eventloop_lag_max_seconds",
    help: `The longest that work waited for the event loop, in seconds (${WINDOWS}).`,
    type: "gauge",
    labels: [],
  }),
} as const;

/** The metrics of every program, for the reference page. */
export const processMetrics = Object.values(definitions);

interface MeasureOptions {
  readonly process: MeasuredProcess;
  readonly clock: Clock;
  /** Left out where its wake-ups cost more than they tell. */
  readonly eventLoop?: EventLoopDelay;
}

/** Everything is read at the scrape: between scrapes it costs nothing beside the event loop's samples. */
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
 * Two Prometheus servers scrape in turns. Were the watch reset at every scrape, each would see half of the truth; so a stretch is
 * kept for one more after it ended, and both see every delay.
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
