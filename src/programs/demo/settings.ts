import type * as z from "zod";
import { JoulieError } from "../../core/api/index.ts";
import { presetVariables } from "../../core/presets/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { type ConfigSchema, parseConfig, type RawValues } from "../../platform/config/index.ts";
import type { SchedulerOptions } from "../../platform/embedded/index.ts";
import { agentConfig } from "../agent/index.ts";
import { dashboardConfig } from "../dashboard/index.ts";
import { extenderConfig } from "../extender/index.ts";
import { fleetConfig } from "../fleet/index.ts";
import { operatorConfig } from "../operator/index.ts";
import { type PowerTimes, powerConfig } from "../power/index.ts";
import { type DemoConfig, wantedSpeed } from "./config.ts";
import { DEMO_NAMESPACE } from "./demo-cluster.ts";

/** kube-scheduler's minimum percentage for the largest clusters; up to 100 nodes all are scored. */
const SCORED_PCT = 5;

export interface ProgramPorts {
  readonly operator: number;
  readonly agent: number;
  readonly extender: number;
  readonly extenderMetrics: number;
  readonly power: number;
}

/** Share of all cores and GPUs that jobs request. Sleep is for clusters that are not full. */
export const LOADS = { usual: 0.5, sleep: 0.25 };
/** No boot fails: a test that hangs would take most of a short run. */
const SLEEPING_FLEET = { SLEEP: "true", FAILED_BOOTS: "0", BATCH_SHARE: "0.35" };

/** Whether nodes sleep. */
export const sleeps = ({ PRESET }: DemoConfig): boolean => presetVariables(PRESET, "operator")["SLEEP_MODE"] === "on";

/** Whether agents set no cap. */
export const observes = ({ PRESET }: DemoConfig): boolean =>
  presetVariables(PRESET, "agent")["SIMULATE_ONLY"] === "true";

const placesByJoules = ({ PRESET }: DemoConfig): boolean => presetVariables(PRESET, "extender")["SCORING"] === "energy";

export const extenderWeight = (config: DemoConfig): number => (placesByJoules(config) ? 10 : 1);

export const schedulerSettings = (
  config: DemoConfig,
): Pick<SchedulerOptions, "percentageOfNodesToScore" | "scoringStrategy"> =>
  placesByJoules(config)
    ? { percentageOfNodesToScore: 100, scoringStrategy: "MostAllocated" }
    : { percentageOfNodesToScore: SCORED_PCT };

export const fleetSettings = (config: DemoConfig) =>
  configured(fleetConfig, {
    SIMULATOR_ADDR: "127.0.0.1:0",
    METRICS_ADDR: "127.0.0.1:0",
    NODES: String(config.NODES),
    SEED: String(config.SEED),
    LOAD: String(sleeps(config) ? LOADS.sleep : LOADS.usual),
    // The cluster disappears with the demo.
    KEEP_OBJECTS: "true",
    TAINT_NODES: "false",
    ...(sleeps(config) && SLEEPING_FLEET),
  });

export const operatorSettings = (config: DemoConfig, { operator }: ProgramPorts, simulator: string) =>
  configured(operatorConfig, {
    PRESET: config.PRESET,
    POLICY_TYPE: config.POLICY,
    ...(sleeps(config) && { SLEEP_AFTER: "5m" }),
    // Small base and share per node, so that the number of performance nodes follows the load closely.
    QUEUE_HP_BASE_FRAC: "0.15",
    QUEUE_PERF_PER_HP_NODE: "2",
    METRICS_ADDR: `127.0.0.1:${operator}`,
    POD_NAMESPACE: DEMO_NAMESPACE,
    ENABLE_FACILITY_METRICS: "true",
    FACILITY_PROMETHEUS_ADDRESS: simulator,
  });

export const agentSettings = (config: DemoConfig, { agent }: ProgramPorts, simulator: string, folder: string) =>
  configured(agentConfig, {
    PRESET: config.PRESET,
    AGENT_MODE: "pool",
    // About once per second of real time, but not more often than the agent's default interval.
    RECONCILE_INTERVAL: `${Math.ceil(Math.min(60, Math.max(20, wantedSpeed(config))))}s`,
    METRICS_ADDR: `127.0.0.1:${agent}`,
    POD_NAMESPACE: DEMO_NAMESPACE,
    STATE_DIR: folder,
    // Simulated machines end with the demo.
    RESTORE_ON_EXIT: "false",
    TELEMETRY_CPU_SOURCE: "http",
    TELEMETRY_CPU_HTTP_ENDPOINT: `${simulator}/telemetry/{node}`,
    TELEMETRY_GPU_SOURCE: "http",
    TELEMETRY_GPU_HTTP_ENDPOINT: `${simulator}/telemetry/{node}`,
    TELEMETRY_CPU_CONTROL: "http",
    TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: `${simulator}/control/{node}`,
    TELEMETRY_GPU_CONTROL: "http",
    TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: `${simulator}/control/{node}`,
  });

export const powerSettings = ({ power }: Pick<ProgramPorts, "power">) =>
  configured(powerConfig, { METRICS_ADDR: `127.0.0.1:${power}`, POD_NAMESPACE: DEMO_NAMESPACE });

export function powerTimes(config: DemoConfig): PowerTimes {
  const speed = wantedSpeed(config);
  return {
    // Schedulers notice the taint in real time.
    settle: milliseconds(Math.max(10, speed) * 1000),
    pollInterval: milliseconds(Math.max(10, speed / 2) * 1000),
    // Many nodes wake for one batch of jobs.
    concurrency: 64,
  };
}

export const extenderSettings = (config: DemoConfig, { extender, extenderMetrics }: ProgramPorts) =>
  configured(extenderConfig, {
    PRESET: config.PRESET,
    EXTENDER_ADDR: `127.0.0.1:${extender}`,
    METRICS_ADDR: `127.0.0.1:${extenderMetrics}`,
    ENABLE_FACILITY_METRICS: "true",
  });

export const dashboardSettings = ({ operator, extender }: ProgramPorts, port: number) =>
  configured(dashboardConfig, {
    DASHBOARD_ADDR: `127.0.0.1:${port}`,
    METRICS_ADDR: "127.0.0.1:0",
    POD_NAMESPACE: DEMO_NAMESPACE,
    EXTENDER_URL: `http://127.0.0.1:${extender}`,
    OPERATOR_URL: `http://127.0.0.1:${operator}`,
  });

/** Ignores the environment: the shell's variables may be meant for a real installation. */
function configured<Config extends ConfigSchema>(config: Config, texts: RawValues): z.output<Config> {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(config, { env: {}, flags: texts, machine });
  if (parsed.ok) return parsed.value.values;
  throw new JoulieError("JOULIE_E_CONFIG_VALUE", parsed.error.problems.map(({ message }) => message).join("; "));
}
