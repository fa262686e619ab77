import type { DvfsSettings } from "../../core/control/index.ts";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { EndpointAccess } from "../../platform/telemetry/index.ts";
import { type AgentConfig, endpointVariables } from "./config.ts";
import type { LeaseSettings } from "./loop/target.ts";
import type { ControlRoute, RoutingSettings, SourceRoute } from "./routing/routing.ts";

export interface AgentSettings {
  readonly interval: Milliseconds;
  readonly dvfs: DvfsSettings;
  readonly routing: RoutingSettings;
  readonly lease: LeaseSettings;
  readonly simulateOnly: boolean;
  readonly restoreOnExit: boolean;
}

export const agentSettingsOf = (config: AgentConfig): AgentSettings => ({
  interval: config.RECONCILE_INTERVAL,
  dvfs: {
    alpha: config.DVFS_EMA_ALPHA,
    highMargin: config.DVFS_HIGH_MARGIN_W,
    lowMargin: config.DVFS_LOW_MARGIN_W,
    step: config.DVFS_STEP_PCT,
    cooldown: config.DVFS_COOLDOWN,
    tripCount: config.DVFS_TRIP_COUNT,
  },
  routing: routingSettings(config),
  lease: { lease: config.TARGET_LEASE, action: config.TARGET_LEASE_ACTION },
  simulateOnly: config.SIMULATE_ONLY,
  restoreOnExit: config.RESTORE_ON_EXIT,
});

function routingSettings(config: AgentConfig): RoutingSettings {
  const timeout = milliseconds(config.TELEMETRY_HTTP_TIMEOUT_SECONDS * 1000);
  // The configuration check rejects type http without an endpoint.
  const source = (type: "none" | "host" | "http", endpoint = ""): SourceRoute =>
    type === "http" ? { type, endpoint, timeout } : { type };
  const control = <Mode extends string>(
    type: "none" | "host" | "http",
    mode: Mode,
    endpoint = "",
  ): ControlRoute<Mode> => {
    if (type === "none") return { type };
    return type === "http" ? { type, endpoint, timeout, mode } : { type, mode };
  };
  return {
    timeout,
    access: endpointAccess(config),
    mayUseHost: config.AGENT_MODE === "daemonset",
    variables: {
      cpuSource: source(config.TELEMETRY_CPU_SOURCE, config.TELEMETRY_CPU_HTTP_ENDPOINT),
      gpuSource: source(config.TELEMETRY_GPU_SOURCE, config.TELEMETRY_GPU_HTTP_ENDPOINT),
      cpuControl: control(
        config.TELEMETRY_CPU_CONTROL,
        config.TELEMETRY_CPU_CONTROL_MODE,
        config.TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT,
      ),
      gpuControl: control(
        config.TELEMETRY_GPU_CONTROL,
        config.TELEMETRY_GPU_CONTROL_MODE,
        config.TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT,
      ),
    },
  };
}

export const endpointAccess = (
  config: Pick<
    AgentConfig,
    | (typeof endpointVariables)[number]
    | "TELEMETRY_ALLOWED_ENDPOINTS"
    | "TELEMETRY_HTTP_TOKEN_FILE"
    | "ALLOW_INSECURE_TOKEN"
  >,
): EndpointAccess =>
  new EndpointAccess({
    variables: endpointVariables.map((name) => config[name]),
    allowed: config.TELEMETRY_ALLOWED_ENDPOINTS,
    hasToken: config.TELEMETRY_HTTP_TOKEN_FILE !== undefined,
    insecureToken: config.ALLOW_INSECURE_TOKEN,
  });
