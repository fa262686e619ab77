import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { HostMachine } from "../host/host.ts";
import type { NodeRunner } from "../loop/node-runner.ts";
import type { AgentMetrics } from "./agent-metrics.ts";

/** Without a throttle the maxima do not change, so the hundreds of files are read rarely. */
const REFRESH_INTERVAL = milliseconds(60_000);

export function frequencyMetrics(
  machine: HostMachine,
  runner: NodeRunner,
  metrics: AgentMetrics,
  clock: Clock,
): () => void {
  let last: { readonly at: MonotonicInstant; readonly throttled: boolean } | undefined;
  let reading = false;
  const update = async (throttled: boolean): Promise<void> => {
    try {
      metrics.recordFrequencies(runner.name, await machine.frequencies(throttled));
    } catch {
      metrics.recordFrequencies(runner.name, []);
    }
    reading = false;
  };
  return () => {
    const throttled = runner.control.dvfs.throttlePct > 0;
    const now = clock.monotonic();
    const old = last === undefined || last.throttled !== throttled || elapsed(last.at, now) >= REFRESH_INTERVAL;
    if (reading || !(throttled || old)) return;
    reading = true;
    last = { at: now, throttled };
    void update(throttled);
  };
}
