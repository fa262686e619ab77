import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { type EventLoopDelayStats } from "../clock/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import { measureProcess, ProgramMetrics } from "./index.ts";

const ms = milliseconds;
const process = {
  cpuUsage: () => ({ user: 1_500_000, system: 250_000 }),
  memoryUsage: () => ({ rss: 90 * 2 ** 20, heapUsed: 1024 }),
};
const figures = (p50: number, p99: number, longest: number): EventLoopDelayStats => ({
  p50: ms(p50),
  p99: ms(p99),
  longest: ms(longest),
});

async function values(metrics: ProgramMetrics): Promise<Record<string, number>> {
  let text = "";
  for await (const piece of metrics.text()) text += piece;
  return Object.fromEntries([...text.matchAll(/^(\w+) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)]));
}

describe("measureProcess", () => {
  it("exposes CPU time, memory and start time in Prometheus' units", async () => {
    const clock = new VirtualClock(instant(1_700_000_000_000));
    const metrics = new ProgramMetrics(clock);
    measureProcess(metrics, { process, clock });
    clock.advance(ms(60_000));
    expect(await values(metrics)).toEqual({
      process_cpu_seconds_total: 1.75,
      process_resident_memory_bytes: 94_371_840,
      process_start_time_seconds: 1_700_000_000,
      nodejs_heap_size_used_bytes: 1024,
    });
  });

  it("shows every delay to two alternating scrapers", async () => {
    const clock = new VirtualClock();
    const metrics = new ProgramMetrics(clock);
    const held: { now: EventLoopDelayStats | undefined } = { now: undefined };
    const reset = () => {
      held.now = undefined;
    };
    measureProcess(metrics, { process, clock, eventLoop: { read: () => held.now, reset, stop: () => undefined } });
    const longest = async () => (await values(metrics))["nodejs_eventloop_lag_max_seconds"];

    expect(await longest()).toBeUndefined();
    held.now = figures(1, 2, 3);
    clock.advance(ms(20_000));
    expect(await values(metrics)).toMatchObject({
      nodejs_eventloop_lag_p50_seconds: 0.001,
      nodejs_eventloop_lag_p99_seconds: 0.002,
      nodejs_eventloop_lag_max_seconds: 0.003,
    });
    held.now = figures(1, 2, 500);
    clock.advance(ms(10_000));
    // The first scrape ends the interval; the second scraper still sees it and later delays.
    expect(await longest()).toBe(0.5);
    held.now = figures(4, 5, 6);
    clock.advance(ms(15_000));
    expect(await values(metrics)).toMatchObject({
      nodejs_eventloop_lag_p50_seconds: 0.004,
      nodejs_eventloop_lag_max_seconds: 0.5,
    });
    clock.advance(ms(15_000));
    expect(await longest()).toBe(0.006);
  });
});
