import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { HostMachine } from "../host/host.ts";
import type { NodeRunner } from "../loop/node-runner.ts";
import type { AgentMetrics } from "./agent-metrics.ts";

/** How often the maximum frequencies are read while there is no throttle. They are hundreds of files and rarely change. */
const REFRESH_INTERVAL = milliseconds(60_000);

/** Returns a function to call after each tick. It starts to record the node's CPU frequencies if a reading is due. */
export function frequencyMetrics(
  machine: HostMachine,
  runner: NodeRunner,
  metrics: AgentMetrics,
  clock: Clock,
): () => void {
  let lastReading: { readonly at: MonotonicInstant; readonly throttled: boolean } | undefined;
  let isReading = false;
  const record = async (throttled: boolean): Promise<void> => {
    try {
      metrics.recordFrequencies(runner.name, await machine.frequencies(throttled));
    } catch {
      metrics.recordFrequencies(runner.name, []);
    }
    isReading = false;
  };
  return () => {
    const throttled = runner.control.dvfs.throttlePct > 0;
    const now = clock.monotonic();
    const isDue =
      throttled ||
      lastReading === undefined ||
      lastReading.throttled ||
      elapsed(lastReading.at, now) >= REFRESH_INTERVAL;
    if (isReading || !isDue) return;
    isReading = true;
    lastReading = { at: now, throttled };
    void record(throttled);
  };
}
