import type * as z from "zod";
import { labels } from "../../core/api/index.ts";
import { seconds, watts } from "../../core/units/index.ts";
import {
  address,
  choice,
  configOf,
  debugEndpoints,
  defaultRanges,
  duration,
  endpointRanges,
  everyProgram,
  flag,
  flagsOnly,
  group,
  hardwareCatalogPath,
  integer,
  labelSelector,
  needs,
  number,
  objectName,
  path,
  percentage,
  preset,
  quantity,
  type RawValues,
  text,
  url,
} from "../../platform/config/index.ts";

export const agentConfig = configOf(
  {
    ...group("The agent", {
      PRESET: preset("agent"),
      AGENT_MODE: choice(["daemonset", "pool"], {
        default: "daemonset",
        about: "daemonset controls the node it runs on; pool controls many nodes over HTTP and never its own host.",
      }),
      // Only `joulie agent` in daemonset mode requires it; `agent probe` and printing the configuration do not.
      NODE_NAME: objectName({ about: "The node to control in daemonset mode, from the downward API." }),
      RECONCILE_INTERVAL: duration({
        default: "20s",
        about: "How often the agent enforces targets and reports readings.",
      }),
      METRICS_ADDR: address({ default: ":8080", about: "The address that serves metrics, health and debug pages." }),
      DEBUG_ENDPOINTS: debugEndpoints(),
      SIMULATE_ONLY: flag({
        default: "false",
        about:
          "Report what the agent would do, and set no limit. Limits that an earlier run left in force are restored.",
      }),
      STATE_DIR: path({
        default: "/var/lib/joulie",
        about: "The directory that stores the original limits until they are restored.",
      }),
      RESTORE_ON_EXIT: flag({ default: "true", about: "Restore the original limits when the agent stops." }),
      TARGET_LEASE: duration({
        default: "0",
        orZero: "keep the last target for ever",
        about: "How long the last target stays in force while the API server is unreachable.",
      }),
      TARGET_LEASE_ACTION: choice(["restore", "eco"], {
        default: "restore",
        about: "What the agent sets when TARGET_LEASE expires: the original limits, or the eco caps.",
      }),
    }),
    ...group("Hardware", {
      HARDWARE_CATALOG_PATH: hardwareCatalogPath(),
      HOST_SYS_ROOT: path({
        derived: {
          text: "/host-sys, else /sys",
          from: (_, machine) => (machine.exists("/host-sys") ? "/host-sys" : "/sys"),
        },
        about: "Where the host's sysfs is mounted.",
      }),
      HOST_PROC_ROOT: path({ default: "/proc", about: "Where the host's procfs is mounted." }),
      NVML_LIBRARY: text({
        default: "libnvidia-ml.so.1",
        allowed: "a library name or path",
        about: "NVIDIA's management library.",
      }),
    }),
    ...group("Pool mode", {
      POOL_NODE_SELECTOR: labelSelector({
        default: `${labels.managed}=true`,
        about: "The nodes that the agents of the pool control.",
      }),
      POOL_SHARDS: integer({ default: "1", min: 1, about: "How many agents share the pool's nodes." }),
      POOL_SHARD_ID: integer({
        min: 0,
        derived: { text: "the ordinal at the end of POD_NAME", from: shardOfPod },
        about: "Which shard of the pool's nodes this agent controls, counted from 0.",
      }),
    }),
    ...group("DVFS controller", {
      DVFS_EMA_ALPHA: number({
        default: "0.3",
        above: 0,
        max: 1,
        about: "The weight of the newest sample in the power average.",
      }),
      DVFS_HIGH_MARGIN_W: quantity(watts, {
        default: "10",
        min: 0,
        about: "Watts above the cap before more throttle is considered.",
      }),
      DVFS_LOW_MARGIN_W: quantity(watts, {
        default: "15",
        min: 0,
        about: "Watts below the cap before less throttle is considered.",
      }),
      DVFS_STEP_PCT: percentage({ default: "10", about: "How much throttle one action adds or removes." }),
      DVFS_COOLDOWN: duration({ default: "20s", about: "The minimum time between two actions." }),
      DVFS_TRIP_COUNT: integer({
        default: "2",
        min: 1,
        about: "Samples in a row outside the margins that lead to an action.",
      }),
      DVFS_MIN_FREQ_KHZ: integer({
        default: "1500000",
        min: 1,
        about: "The CPU frequency at full throttle, in kHz.",
      }),
    }),
    ...group("Telemetry and control", {
      TELEMETRY_CPU_SOURCE: choice(["none", "host", "http"], {
        default: "host",
        about: "Where CPU readings come from if no TelemetryProfile says so.",
      }),
      TELEMETRY_CPU_HTTP_ENDPOINT: url({
        placeholder: "{node}",
        about: "The URL of CPU readings for the source http.",
      }),
      TELEMETRY_CPU_CONTROL: choice(["none", "host", "http"], {
        default: "host",
        about: "How the agent enforces CPU caps if no TelemetryProfile says so.",
      }),
      TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: url({
        placeholder: "{node}",
        about: "The URL of CPU control for the control http.",
      }),
      TELEMETRY_CPU_CONTROL_MODE: choice(["auto", "rapl", "dvfs"], {
        default: "auto",
        about: "auto uses RAPL and falls back to DVFS; rapl and dvfs use only that one.",
      }),
      TELEMETRY_GPU_SOURCE: choice(["none", "host", "http"], {
        default: "host",
        about: "Where GPU readings come from if no TelemetryProfile says so.",
      }),
      TELEMETRY_GPU_HTTP_ENDPOINT: url({
        placeholder: "{node}",
        about: "The URL of GPU readings for the source http.",
      }),
      TELEMETRY_GPU_CONTROL: choice(["none", "host", "http"], {
        default: "host",
        about: "How the agent enforces GPU caps if no TelemetryProfile says so.",
      }),
      TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: url({
        placeholder: "{node}",
        about: "The URL of GPU control for the control http.",
      }),
      TELEMETRY_GPU_CONTROL_MODE: choice(["auto", "powercap"], {
        default: "auto",
        about: "How GPUs are controlled, as /debug/node shows it; auto means powercap, the only mode there is.",
      }),
      TELEMETRY_HTTP_TIMEOUT_SECONDS: quantity(seconds, {
        default: "5",
        min: 1,
        max: 300,
        about: "How long one HTTP request for readings or control may take.",
      }),
      TELEMETRY_ALLOWED_ENDPOINTS: endpointRanges({
        derived: { text: "the origins in TELEMETRY_*_HTTP_ENDPOINT, and loopback in pool mode", from: namedEndpoints },
        about: "Which endpoints a TelemetryProfile may name. The token is sent to origins, not to CIDRs and loopback.",
      }),
      TELEMETRY_HTTP_TOKEN_FILE: path({
        about: "A file with the bearer token for HTTP readings and control; it is sent only to origins in variables.",
      }),
      TELEMETRY_HTTP_CA_FILE: path({ about: "A file with the certificate authorities to trust for HTTPS endpoints." }),
    }),
    ...everyProgram,
  },
  [
    needs("TELEMETRY_CPU_SOURCE", "http", "TELEMETRY_CPU_HTTP_ENDPOINT"),
    needs("TELEMETRY_CPU_CONTROL", "http", "TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT"),
    needs("TELEMETRY_GPU_SOURCE", "http", "TELEMETRY_GPU_HTTP_ENDPOINT"),
    needs("TELEMETRY_GPU_CONTROL", "http", "TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT"),
    {
      reads: ["POOL_SHARD_ID", "POOL_SHARDS", "AGENT_MODE"],
      holds: (config) => config.AGENT_MODE !== "pool" || config.POOL_SHARD_ID < config.POOL_SHARDS,
      problem: "is not below {POOL_SHARDS}",
      allowed: "less than POOL_SHARDS, which must equal the number of agents",
    },
    {
      reads: ["TARGET_LEASE", "RECONCILE_INTERVAL"],
      holds: (config) => config.TARGET_LEASE === 0 || config.TARGET_LEASE >= config.RECONCILE_INTERVAL,
      problem: "expires between two ticks, {RECONCILE_INTERVAL}",
      allowed: "0, or at least RECONCILE_INTERVAL",
    },
  ],
);

export type AgentConfig = z.output<typeof agentConfig>;

/** Variables about the host, for every subcommand. */
const machine = {
  HOST_SYS_ROOT: agentConfig.shape.HOST_SYS_ROOT,
  HOST_PROC_ROOT: agentConfig.shape.HOST_PROC_ROOT,
  NVML_LIBRARY: agentConfig.shape.NVML_LIBRARY,
  STATE_DIR: agentConfig.shape.STATE_DIR,
} as const;

/** `joulie agent restore`: restores what the journal holds, so it needs no catalogue, throttle floor or timeout. */
export const restoreConfig = configOf({
  ...machine,
  AGENT_MODE: agentConfig.shape.AGENT_MODE,
  TELEMETRY_CPU_HTTP_ENDPOINT: agentConfig.shape.TELEMETRY_CPU_HTTP_ENDPOINT,
  TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: agentConfig.shape.TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT,
  TELEMETRY_GPU_HTTP_ENDPOINT: agentConfig.shape.TELEMETRY_GPU_HTTP_ENDPOINT,
  TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: agentConfig.shape.TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT,
  TELEMETRY_ALLOWED_ENDPOINTS: agentConfig.shape.TELEMETRY_ALLOWED_ENDPOINTS,
  TELEMETRY_HTTP_TOKEN_FILE: agentConfig.shape.TELEMETRY_HTTP_TOKEN_FILE,
  ALLOW_INSECURE_TOKEN: agentConfig.shape.ALLOW_INSECURE_TOKEN,
  TELEMETRY_HTTP_CA_FILE: agentConfig.shape.TELEMETRY_HTTP_CA_FILE,
});
export type RestoreConfig = z.output<typeof restoreConfig>;

/** `joulie agent probe`. */
export const probeConfig = configOf({
  ...machine,
  HARDWARE_CATALOG_PATH: agentConfig.shape.HARDWARE_CATALOG_PATH,
  DVFS_MIN_FREQ_KHZ: agentConfig.shape.DVFS_MIN_FREQ_KHZ,
  ...flagsOnly("This probe", {
    JSON: flag({ default: "false", about: "Print JSON for programs." }),
    CPU_PCT: percentage({ default: "60", about: "The CPU cap to compute, in percent of the maximum." }),
    GPU_PCT: percentage({ default: "60", about: "The GPU cap to compute, in percent of the maximum." }),
  }),
});
export type ProbeConfig = z.output<typeof probeConfig>;

export const endpointVariables = [
  "TELEMETRY_CPU_HTTP_ENDPOINT",
  "TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT",
  "TELEMETRY_GPU_HTTP_ENDPOINT",
  "TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT",
] as const;

/**
 * Loopback is allowed in pool mode only. On a node it reaches the kubelet and other services that trust the host; a pool's pod
 * has at most a simulator there.
 */
function namedEndpoints(texts: RawValues): string {
  const urls = endpointVariables.map((name) => texts[name]);
  return defaultRanges(urls, texts["AGENT_MODE"] === "pool");
}

/** Reads the StatefulSet ordinal. Five or more characters after the dash are a random suffix, even if all are digits. */
function shardOfPod(texts: RawValues): string | undefined {
  if (texts["AGENT_MODE"] !== "pool") return "0";
  const ordinal = /-(\d{1,4})$/.exec(texts["POD_NAME"] ?? "")?.[1];
  return ordinal ?? (Number(texts["POOL_SHARDS"]) === 1 ? "0" : undefined);
}
