// Variables of the programs in tests of sleeping nodes: everything takes seconds instead of minutes.
import { milliseconds } from "../../src/core/units/index.ts";
import { type ConfigSchema, parseConfig } from "../../src/platform/config/index.ts";

export const fleetFlags = {
  SIMULATOR_ADDR: "127.0.0.1:0",
  METRICS_ADDR: "127.0.0.1:0",
  SLEEP: "true",
  BOOT_TIME: "2s",
  SHUTDOWN_TIME: "500ms",
  FAILED_BOOTS: "0",
  POD_START: "0",
  WORKLOAD: "none",
  TAINT_NODES: "false",
};
/** A pool agent for all simulated machines. */
export const agentVariables = (simulator: string, folder: string) => ({
  METRICS_ADDR: "127.0.0.1:0",
  AGENT_MODE: "pool",
  RECONCILE_INTERVAL: "4s",
  STATE_DIR: folder,
  RESTORE_ON_EXIT: "false",
  ...Object.fromEntries(
    ["CPU", "GPU"].flatMap((device) => [
      [`TELEMETRY_${device}_SOURCE`, "http"],
      [`TELEMETRY_${device}_HTTP_ENDPOINT`, `${simulator}/telemetry/{node}`],
      [`TELEMETRY_${device}_CONTROL`, "http"],
      [`TELEMETRY_${device}_CONTROL_HTTP_ENDPOINT`, `${simulator}/control/{node}`],
    ]),
  ),
});
export const operatorVariables = {
  METRICS_ADDR: "127.0.0.1:0",
  RECONCILE_INTERVAL: "1s",
  SLEEP_MODE: "on",
  SLEEP_AFTER: "2s",
  SLEEP_RESERVE_QUANTILE: "0",
};
export const powerVariables = {
  METRICS_ADDR: "127.0.0.1:0",
  SHUTDOWN_TIMEOUT: "10s",
  WAKE_TIMEOUT: "60s",
};
export const powerTimes = {
  // On a busy machine kube-scheduler takes a while to notice a taint.
  settle: milliseconds(1000),
  pollInterval: milliseconds(500),
  refreshInterval: milliseconds(3000),
  switchTimeout: milliseconds(5000),
  awakeAtLeast: milliseconds(1000),
};

export function configured<Config extends ConfigSchema>(
  config: Config,
  values: Readonly<Record<string, string>>,
  from: "env" | "flags",
) {
  const texts = { env: {}, flags: {}, [from]: values };
  const parsed = parseConfig(config, { ...texts, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  return parsed.value.values;
}
