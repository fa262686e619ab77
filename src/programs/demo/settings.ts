import type * as z from "zod";
import { JoulieError } from "../../core/api/index.ts";
import { type ConfigSchema, parseConfig, type RawValues } from "../../platform/config/index.ts";
import { agentConfig } from "../agent/index.ts";
import { extenderConfig } from "../extender/index.ts";
import { operatorConfig } from "../operator/index.ts";
import { simulatorConfig } from "../simulator/index.ts";
import type { DemoConfig } from "./config.ts";
import { NAMESPACE, type Plane } from "./plane.ts";

/** What each program of the demo is configured with, as a person would write it. */
export interface Ports {
  readonly operator: number;
  readonly agent: number;
  readonly extender: number;
  readonly extenderMetrics: number;
}

export const simulatorSettings = (config: DemoConfig, plane: Plane) =>
  configured(simulatorConfig, {
    SIMULATOR_ADDR: "127.0.0.1:0",
    METRICS_ADDR: "127.0.0.1:0",
    NODES: String(config.NODES),
    SEED: String(config.SEED),
    LOAD: "0.5",
    WORKLOAD_NAMESPACE: plane.workload.namespace,
    SCHEDULER_NAME: plane.workload.scheduler,
    // With the embedded plane it all goes anyway.
    KEEP_OBJECTS: String(plane.embedded),
    // In an embedded cluster every pod is meant for these nodes; a real one has pods that need a real container.
    TAINT_NODES: String(!plane.embedded),
  });

export const operatorSettings = (config: DemoConfig, { operator }: Ports, simulator: string) =>
  configured(operatorConfig, {
    POLICY_TYPE: config.POLICY,
    // A small base and a small share for each node, so that the number of performance nodes follows the jobs closely.
    QUEUE_HP_BASE_FRAC: "0.15",
    QUEUE_PERF_PER_HP_NODE: "2",
    METRICS_ADDR: `127.0.0.1:${operator}`,
    POD_NAMESPACE: NAMESPACE,
    ENABLE_FACILITY_METRICS: "true",
    FACILITY_PROMETHEUS_ADDRESS: simulator,
  });

export const agentSettings = ({ SPEED: speed }: DemoConfig, { agent }: Ports, simulator: string, folder: string) =>
  configured(agentConfig, {
    AGENT_MODE: "pool",
    // About once a second of real time, and never more often than an agent's usual interval.
    RECONCILE_INTERVAL: `${Math.ceil(Math.min(60, Math.max(20, speed)))}s`,
    METRICS_ADDR: `127.0.0.1:${agent}`,
    STATE_DIR: folder,
    // Machines that end with the demo need nothing back.
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

export const extenderSettings = ({ extender, extenderMetrics }: Ports) =>
  configured(extenderConfig, {
    EXTENDER_ADDR: `127.0.0.1:${extender}`,
    METRICS_ADDR: `127.0.0.1:${extenderMetrics}`,
    ENABLE_FACILITY_METRICS: "true",
  });

/** Nothing from the environment: what a shell holds for a real operator is not meant for this one. */
function configured<Config extends ConfigSchema>(config: Config, texts: RawValues): z.output<Config> {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(config, { env: {}, flags: texts, machine });
  if (parsed.ok) return parsed.value.values;
  throw new JoulieError("JOULIE_E_CONFIG_VALUE", parsed.error.problems.map(({ message }) => message).join("; "));
}
