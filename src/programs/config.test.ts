import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ConfigSchema,
  type DefaultContext,
  parseConfig,
  type RawValues,
  variableNames,
} from "../platform/config/index.ts";
import { agentConfig } from "./agent/config.ts";
import { extenderConfig } from "./extender/config.ts";
import { programs } from "./index.ts";
import { operatorConfig } from "./operator/config.ts";

const machine: DefaultContext = { isTerminal: false, exists: () => false };
const MINUTE = 60_000;
const unset = undefined;

// Section 3 of the contract, by hand. Nothing here may be read from the code under test.
const everywhere = {
  LOG_LEVEL: "info",
  LOG_FORMAT: "json",
  KUBECONFIG: unset,
  ALLOW_INSECURE_TOKEN: false,
  POD_NAME: unset,
  POD_NAMESPACE: "joulie-system",
};
const managedNodes = [{ key: "joulie.io/managed", operator: "In", values: ["true"] }];
const contract: Record<string, Record<string, unknown>> = {
  agent: {
    ...everywhere,
    PRESET: "partition",
    AGENT_MODE: "daemonset",
    NODE_NAME: unset,
    RECONCILE_INTERVAL: 20_000,
    METRICS_ADDR: { host: unset, port: 8080 },
    DEBUG_ENDPOINTS: false,
    SIMULATE_ONLY: false,
    HARDWARE_CATALOG_PATH: "embedded",
    HOST_SYS_ROOT: "/sys",
    POOL_NODE_SELECTOR: managedNodes,
    POOL_SHARDS: 1,
    POOL_SHARD_ID: 0,
    STATE_DIR: "/var/lib/joulie",
    RESTORE_ON_EXIT: true,
    TARGET_LEASE: 0,
    TARGET_LEASE_ACTION: "restore",
    HOST_PROC_ROOT: "/proc",
    NVML_LIBRARY: "libnvidia-ml.so.1",
    DVFS_EMA_ALPHA: 0.3,
    DVFS_HIGH_MARGIN_W: 10,
    DVFS_LOW_MARGIN_W: 15,
    DVFS_STEP_PCT: 10,
    DVFS_COOLDOWN: 20_000,
    DVFS_TRIP_COUNT: 2,
    DVFS_MIN_FREQ_KHZ: 1_500_000,
    TELEMETRY_CPU_SOURCE: "host",
    TELEMETRY_CPU_CONTROL: "host",
    TELEMETRY_GPU_CONTROL: "host",
    TELEMETRY_CPU_HTTP_ENDPOINT: unset,
    TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: unset,
    TELEMETRY_CPU_CONTROL_MODE: "auto",
    TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: unset,
    TELEMETRY_GPU_CONTROL_MODE: "auto",
    TELEMETRY_HTTP_TIMEOUT_SECONDS: 5,
    TELEMETRY_GPU_SOURCE: "host",
    TELEMETRY_GPU_HTTP_ENDPOINT: unset,
    TELEMETRY_ALLOWED_ENDPOINTS: [],
    TELEMETRY_HTTP_TOKEN_FILE: unset,
    TELEMETRY_HTTP_CA_FILE: unset,
  },
  dashboard: {
    ...everywhere,
    DASHBOARD_ADDR: { host: "127.0.0.1", port: 8090 },
    METRICS_ADDR: { host: unset, port: 8083 },
    TWIN_STALENESS_THRESHOLD: 5 * MINUTE,
    SCORING: "headroom",
    HARDWARE_CATALOG_PATH: "embedded",
    HISTORY_FILE: unset,
    PROMETHEUS_ADDRESS: unset,
    EXTENDER_URL: unset,
    OPERATOR_URL: unset,
    DEBUG_TOKEN_FILE: unset,
    ENERGY_PRICE: unset,
    ENERGY_CURRENCY: "EUR",
    CARBON_INTENSITY: unset,
    SITE_PUE: 1,
  },
  power: {
    ...everywhere,
    SHUTDOWN_TIMEOUT: 5 * MINUTE,
    WAKE_TIMEOUT: 15 * MINUTE,
    SWITCH_ALLOWED_ENDPOINTS: [],
    METRICS_ADDR: { host: unset, port: 8082 },
    LEASE_NAME: "joulie-power",
  },
  operator: {
    ...everywhere,
    PRESET: "partition",
    RECONCILE_INTERVAL: MINUTE,
    METRICS_ADDR: { host: unset, port: 8081 },
    DEBUG_ENDPOINTS: false,
    NODE_SELECTOR: managedNodes,
    RESERVED_LABEL_KEY: "joulie.io/reserved",
    POWER_PROFILE_LABEL: "joulie.io/power-profile",
    DRAINING_LABEL: "joulie.io/draining",
    PERFORMANCE_CAP_WATTS: 5000,
    ECO_CAP_WATTS: 120,
    CPU_PERFORMANCE_CAP_PCT_OF_MAX: 100,
    CPU_ECO_CAP_PCT_OF_MAX: 60,
    CPU_WRITE_ABSOLUTE_CAPS: false,
    GPU_PERFORMANCE_CAP_PCT_OF_MAX: 100,
    GPU_ECO_CAP_PCT_OF_MAX: 60,
    GPU_WRITE_ABSOLUTE_CAPS: false,
    GPU_MODEL_CAPS_JSON: {},
    GPU_PRODUCT_LABEL_KEYS: [
      "joulie.io/gpu.product",
      "nvidia.com/gpu.product",
      "amd.com/gpu.product",
      "amd.com/gpu.family",
    ],
    POLICY_TYPE: "static_partition",
    STATIC_HP_FRAC: 0.5,
    QUEUE_HP_BASE_FRAC: 0.6,
    QUEUE_HP_MIN: 1,
    QUEUE_HP_MAX: 1_000_000,
    QUEUE_PERF_PER_HP_NODE: 10,
    FIT_RESERVE: 0.9,
    SLEEP_MODE: "off",
    SLEEP_SCHEDULERS: unset,
    SLEEP_AFTER: 600_000,
    SLEEP_RESERVE_QUANTILE: 0.99,
    SLEEP_ZONE_SHARE: 0.5,
    PROFILE_MIN_DWELL: 300_000,
    OPERATOR_NODE_POWER_SOURCE: "auto",
    OPERATOR_NODE_POWER_HTTP_ENDPOINT: unset,
    PROMETHEUS_ADDRESS: unset,
    OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: unset,
    OPERATOR_NODE_POWER_PROMETHEUS_QUERY: unset,
    ENABLE_FACILITY_METRICS: false,
    FACILITY_PROMETHEUS_ADDRESS: "http://prometheus-operated.monitoring:9090",
    FACILITY_POLL_INTERVAL: 30_000,
    FACILITY_AMBIENT_TEMP_METRIC: "datacenter_ambient_temperature_celsius",
    FACILITY_IT_POWER_METRIC: "datacenter_total_it_power_watts",
    FACILITY_COOLING_POWER_METRIC: "datacenter_cooling_power_watts",
    FACILITY_ZONE_AMBIENT_METRIC_TEMPLATE: unset,
    FACILITY_RACK_POWER_METRIC_TEMPLATE: unset,
    FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: unset,
    FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: unset,
    WRITE_NODE_POWER_PROFILES: false,
    DRAINING_CAPS: "performance",
    CPU_CAP_GPU_NODES: true,
    ECO_MAX_SLOWDOWN_PCT: unset,
    ECO_CLOCK_SHARE: 1,
    TWIN_HEARTBEAT: 3.75 * MINUTE,
    TWIN_STALENESS_THRESHOLD: 5 * MINUTE,
    HARDWARE_CATALOG_PATH: "embedded",
    COOLING_MODEL: "linear",
    COOLING_TABLE: unset,
    REFERENCE_NODE_POWER_W: 4000,
    REFERENCE_RACK_CAPACITY_W: 50_000,
    LEASE_NAME: "joulie-operator",
  },
  extender: {
    ...everywhere,
    PRESET: "partition",
    EXTENDER_ADDR: { host: unset, port: 9876 },
    METRICS_ADDR: { host: unset, port: 9877 },
    DEBUG_ENDPOINTS: false,
    CACHE_TTL: 30_000,
    TWIN_STALENESS_THRESHOLD: 5 * MINUTE,
    POWER_PROFILE_LABEL: "joulie.io/power-profile",
    DRAINING_LABEL: "joulie.io/draining",
    HARDWARE_CATALOG_PATH: "embedded",
    MARGINAL_CPU_UTIL_COEFF: 0.7,
    MARGINAL_GPU_UTIL_COEFF_STANDARD: 0.65,
    MARGINAL_GPU_UTIL_COEFF_PERFORMANCE: 0.85,
    ENABLE_FACILITY_METRICS: false,
    SCORING: "headroom",
    SLEEP_MODE: "off",
    DRAINING_SCORE_PENALTY: 20,
    SCORE_MAX: 100,
    EXTENDER_MAX_BODY_BYTES: 64 * 1024 * 1024,
    EXTENDER_TLS_CERT_FILE: unset,
    EXTENDER_TLS_KEY_FILE: unset,
    EXTENDER_TLS_CLIENT_CA_FILE: unset,
  },
  // Offline: it has flags only, and reads neither a cluster nor a log setting.
  simulate: {
    BOOT_CPU: unset,
    BOOT_GPU: unset,
    BOOT_FAILURES: unset,
    SLEEP_RESERVE_QUANTILE: unset,
    SLEEP_ZONE_SHARE: unset,
    SLEEP_AFTER: unset,
    ARM: unset,
    COMPARE: unset,
    TRACE: unset,
    CLUSTER: "exp04",
    NODES: unset,
    LOAD: unset,
    HOURS: unset,
    SEED: 1,
    SEEDS: 1,
    WALL_POWER: false,
    BIND_BOARDS: false,
    PERFORMANCE_SHARE: unset,
    ECO_MAX_SLOWDOWN_PCT: unset,
    ECO_CLOCK_SHARE: unset,
    JSON: false,
  },
  fleet: {
    ...everywhere,
    SIMULATOR_ADDR: { host: "127.0.0.1", port: 9878 },
    METRICS_ADDR: { host: undefined, port: 9879 },
    CPU_PERFORMANCE_CAP_PCT_OF_MAX: 100,
    GPU_PERFORMANCE_CAP_PCT_OF_MAX: 100,
    NODES: 40,
    NODE_PREFIX: "sim",
    TAINT_NODES: true,
    HEARTBEAT_INTERVAL: 10_000,
    KEEP_OBJECTS: false,
    WORKLOAD: "day",
    LOAD: 0.6,
    PERFORMANCE_SHARE: 0.25,
    WORKLOAD_NAMESPACE: "default",
    SCHEDULER_NAME: "default-scheduler",
    MAX_PODS: 20_000,
    FINISHED_PODS_KEPT: 30_000,
    SPEED: 1,
    SEED: 1,
    POD_START: 2000,
    REDFISH_ADDRESS: unset,
    REDFISH_PASSWORD: unset,
    REDFISH_SECRET: unset,
    SLEEP: false,
    PROVE_WAKES: false,
    BATCH_SHARE: 0,
    BOOT_TIME: unset,
    SHUTDOWN_TIME: 60_000,
    FAILED_BOOTS: 0.01,
  },
  // Nothing of what only makes sense in a pod.
  demo: {
    NODES: 40,
    PRESET: "energy-sleep",
    POLICY: unset,
    SPEED: unset,
    DURATION: unset,
    DASHBOARD_PORT: 8090,
    JSON: false,
    SEED: 1,
    LOG_LEVEL: unset,
  },
};

/** One bad value for each variable that can have one; free text and paths take everything that is not empty. */
const badValues: Record<string, Record<string, string>> = {
  agent: {
    LOG_LEVEL: "loud",
    LOG_FORMAT: "xml",
    POD_NAME: "Joulie Agent",
    POD_NAMESPACE: "joulie_system",
    AGENT_MODE: "deployment",
    NODE_NAME: "worker 01",
    RECONCILE_INTERVAL: "20",
    METRICS_ADDR: "8080",
    SIMULATE_ONLY: "maybe",
    POOL_NODE_SELECTOR: "joulie.io/managed in",
    POOL_SHARDS: "0",
    POOL_SHARD_ID: "-1",
    RESTORE_ON_EXIT: "yess",
    TARGET_LEASE: "-5s",
    TARGET_LEASE_ACTION: "panic",
    DVFS_EMA_ALPHA: "1.1",
    DVFS_HIGH_MARGIN_W: "-1",
    DVFS_LOW_MARGIN_W: "10W",
    DVFS_STEP_PCT: "0",
    DVFS_COOLDOWN: "0",
    DVFS_TRIP_COUNT: "1.5",
    DVFS_MIN_FREQ_KHZ: "1.5GHz",
    TELEMETRY_CPU_SOURCE: "prometheus",
    TELEMETRY_CPU_CONTROL: "ipmi",
    TELEMETRY_GPU_CONTROL: "Host",
    TELEMETRY_GPU_SOURCE: "nvml",
    TELEMETRY_CPU_HTTP_ENDPOINT: "simulator:8080",
    TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: "ftp://simulator/{node}",
    TELEMETRY_CPU_CONTROL_MODE: "powercap",
    TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: "http:/simulator",
    TELEMETRY_GPU_CONTROL_MODE: "rapl",
    TELEMETRY_HTTP_TIMEOUT_SECONDS: "301",
    TELEMETRY_GPU_HTTP_ENDPOINT: "http://",
    TELEMETRY_ALLOWED_ENDPOINTS: "https://bmc.example/path",
    ALLOW_INSECURE_TOKEN: "maybe",
  },
  operator: {
    RECONCILE_INTERVAL: "1ns",
    METRICS_ADDR: ":65536",
    NODE_SELECTOR: "a==b==c",
    RESERVED_LABEL_KEY: "/reserved",
    POWER_PROFILE_LABEL: "joulie.io/power profile",
    DRAINING_LABEL: "joulie.io/",
    PERFORMANCE_CAP_WATTS: "0",
    ECO_CAP_WATTS: "NaN",
    CPU_PERFORMANCE_CAP_PCT_OF_MAX: "101",
    CPU_ECO_CAP_PCT_OF_MAX: "60%",
    CPU_WRITE_ABSOLUTE_CAPS: "watts",
    GPU_PERFORMANCE_CAP_PCT_OF_MAX: "0",
    GPU_ECO_CAP_PCT_OF_MAX: "-60",
    GPU_WRITE_ABSOLUTE_CAPS: "2",
    GPU_MODEL_CAPS_JSON: '{"H100":{"minCapWatts":800,"maxCapWatts":700}}',
    GPU_PRODUCT_LABEL_KEYS: "nvidia.com/gpu.product,,amd.com/gpu.product",
    POLICY_TYPE: "static-partition",
    STATIC_HP_FRAC: "half",
    QUEUE_HP_BASE_FRAC: "-0.1",
    QUEUE_HP_MIN: "-1",
    QUEUE_HP_MAX: "1e999",
    QUEUE_PERF_PER_HP_NODE: "0",
    OPERATOR_NODE_POWER_SOURCE: "kepler",
    OPERATOR_NODE_POWER_HTTP_ENDPOINT: "http//simulator",
    OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: "prometheus:9090",
    ENABLE_FACILITY_METRICS: "on!",
    FACILITY_PROMETHEUS_ADDRESS: "monitoring",
    FACILITY_POLL_INTERVAL: "30",
    FACILITY_ZONE_AMBIENT_METRIC_TEMPLATE: "ambient_zone",
    FACILITY_RACK_POWER_METRIC_TEMPLATE: "rack_power{zone}",
    FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: "it_power_{rack}",
    FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: "cooling",
    WRITE_NODE_POWER_PROFILES: "-",
    DRAINING_CAPS: "none",
    CPU_CAP_GPU_NODES: "never",
    TWIN_HEARTBEAT: "99ms",
    REFERENCE_NODE_POWER_W: "0",
    REFERENCE_RACK_CAPACITY_W: "-50000",
    LEASE_NAME: "Joulie",
  },
  extender: {
    EXTENDER_ADDR: "http://:9876",
    METRICS_ADDR: "localhost",
    CACHE_TTL: "0s",
    TWIN_STALENESS_THRESHOLD: "5 m",
    MARGINAL_CPU_UTIL_COEFF: "-0.7",
    MARGINAL_GPU_UTIL_COEFF_STANDARD: "0,65",
    MARGINAL_GPU_UTIL_COEFF_PERFORMANCE: "0x1",
    ENABLE_FACILITY_METRICS: "?",
    SCORING: "joules",
    DRAINING_SCORE_PENALTY: "101",
    SCORE_MAX: "0",
    EXTENDER_MAX_BODY_BYTES: "3Gi",
  },
};

const parse = (config: ConfigSchema, env: RawValues, on: DefaultContext = machine) =>
  parseConfig(config, { env, flags: {}, machine: on });

/** The messages, or an empty list where all is well. */
function problems(config: ConfigSchema, env: RawValues): string[] {
  const parsed = parse(config, env);
  return parsed.ok ? [] : parsed.error.problems.map(({ message }) => message);
}

function valuesOf<Config extends ConfigSchema>(config: Config, env: RawValues, on: DefaultContext = machine) {
  const parsed = parseConfig(config, { env, flags: {}, machine: on });
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("\n"));
  return parsed.value.values;
}

describe.each([...programs])("the configuration of joulie $name", (program) => {
  it("X-13 has exactly the contract's variables, with the contract's defaults", async () => {
    const config = await program.config();
    const expected = contract[program.name] ?? {};
    expect(new Set(variableNames(config))).toEqual(new Set(Object.keys(expected)));
    expect(valuesOf(config, {})).toEqual(expected);
  });

  it("X-13 names every bad value, all of them at once, with what is allowed", async () => {
    const config = await program.config();
    const bad = badValues[program.name] ?? ("LOG_LEVEL" in config.shape ? { LOG_LEVEL: "loud" } : {});
    const messages = problems(config, bad);
    expect(messages).toHaveLength(Object.keys(bad).length);
    for (const [name, value] of Object.entries(bad)) {
      const start = `${name}=${JSON.stringify(value)} `;
      expect(messages.filter((message) => message.startsWith(start))).toHaveLength(1);
    }
    for (const message of messages) expect(message).toMatch(/^[^\n]+; allowed: [^\n]+$/);
  });

  it("X-13 answers any text in any variable with a value or one line naming it, never an exception", async () => {
    const config = await program.config();
    const names = variableNames(config);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ unit: "binary", maxLength: 300 }), (name, value) => {
        const parsed = parse(config, { [name]: value });
        if (parsed.ok) return;
        for (const { message } of parsed.error.problems) expect(message).not.toContain("\n");
        expect(parsed.error.problems.map(({ message }) => message).join()).toContain(name);
      }),
      { numRuns: 100 },
    );
  });
});

describe("what the operator's variables have to agree on", () => {
  it("X-13 a TWIN_HEARTBEAT that outlasts the extenders' TWIN_STALENESS_THRESHOLD stops the start", () => {
    expect(problems(operatorConfig, { TWIN_HEARTBEAT: "5m" })).toEqual([
      expect.stringMatching(
        /^TWIN_HEARTBEAT="5m" is not below TWIN_STALENESS_THRESHOLD="5m".*: the extenders .*; allowed: less than TWIN_STAL/,
      ),
    ]);
    expect(problems(operatorConfig, { TWIN_STALENESS_THRESHOLD: "90s" })).toHaveLength(1);
    expect(problems(operatorConfig, { TWIN_HEARTBEAT: "9m", TWIN_STALENESS_THRESHOLD: "10m" })).toEqual([]);
  });

  it("X-92 QUEUE_HP_MIN > QUEUE_HP_MAX stops the start", () => {
    expect(problems(operatorConfig, { QUEUE_HP_MIN: "5", QUEUE_HP_MAX: "3" })).toEqual([
      'QUEUE_HP_MIN="5" is above QUEUE_HP_MAX="3"; allowed: at most QUEUE_HP_MAX',
    ]);
    expect(problems(operatorConfig, { QUEUE_HP_MIN: "3", QUEUE_HP_MAX: "3" })).toEqual([]);
  });

  it.each(["0", "-1", "-0.5", "0.0"])("X-92 QUEUE_PERF_PER_HP_NODE=%s stops the start", (value) => {
    expect(problems(operatorConfig, { QUEUE_PERF_PER_HP_NODE: value })).toEqual([
      `QUEUE_PERF_PER_HP_NODE="${value}" is not above 0; allowed: a number above 0`,
    ]);
  });

  it("POL-23 rule_swap_v1 runs only where it is asked for, never by default", () => {
    expect(valuesOf(operatorConfig, {}).POLICY_TYPE).not.toBe("rule_swap_v1");
    expect(valuesOf(operatorConfig, { POLICY_TYPE: "rule_swap_v1" }).POLICY_TYPE).toBe("rule_swap_v1");
  });

  it("takes STATIC_HP_FRAC=1.5, which the policy clamps", () => {
    expect(valuesOf(operatorConfig, { STATIC_HP_FRAC: "1.5" }).STATIC_HP_FRAC).toBe(1.5);
  });

  it.each<[string, RawValues]>([
    ["http without an endpoint", { OPERATOR_NODE_POWER_SOURCE: "http" }],
    ["prometheus without an address", { OPERATOR_NODE_POWER_SOURCE: "prometheus" }],
    ["CPU caps the wrong way round", { CPU_ECO_CAP_PCT_OF_MAX: "90", CPU_PERFORMANCE_CAP_PCT_OF_MAX: "80" }],
    ["GPU caps the wrong way round", { GPU_ECO_CAP_PCT_OF_MAX: "90", GPU_PERFORMANCE_CAP_PCT_OF_MAX: "80" }],
    ["watts the wrong way round", { CPU_WRITE_ABSOLUTE_CAPS: "true", PERFORMANCE_CAP_WATTS: "100" }],
    ["one label for two meanings", { DRAINING_LABEL: "joulie.io/power-profile" }],
    ["reserved by the profile label", { RESERVED_LABEL_KEY: "joulie.io/power-profile" }],
    ["reserved by the draining label", { RESERVED_LABEL_KEY: "joulie.io/draining" }],
    ["IT power per zone alone", { FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: "it_{zone}" }],
    ["cooling power per zone alone", { FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: "cooling_{zone}" }],
  ])("refuses %s", (_, env) => {
    expect(problems(operatorConfig, env)).toHaveLength(1);
  });

  it("minds watts only where watts are written", () => {
    expect(problems(operatorConfig, { PERFORMANCE_CAP_WATTS: "100" })).toEqual([]);
  });

  it("takes GPU caps with or without a minimum", () => {
    const GPU_MODEL_CAPS_JSON = '{"H100":{"minCapWatts":200,"maxCapWatts":700},"L4":{"maxCapWatts":72}}';
    expect(valuesOf(operatorConfig, { GPU_MODEL_CAPS_JSON }).GPU_MODEL_CAPS_JSON).toEqual({
      H100: { minCapWatts: 200, maxCapWatts: 700 },
      L4: { maxCapWatts: 72 },
    });
    expect(problems(operatorConfig, { GPU_MODEL_CAPS_JSON: '{"L4":{"maxCap":72}}' })[0]).toContain("is wrong at L4");
  });
});

describe("what the agent's variables have to agree on", () => {
  const pool = { AGENT_MODE: "pool", POOL_SHARDS: "4" };

  it.each<[string, RawValues]>([
    ["CPU source http without an endpoint", { TELEMETRY_CPU_SOURCE: "http" }],
    ["CPU control http without an endpoint", { TELEMETRY_CPU_CONTROL: "http" }],
    ["GPU source http without an endpoint", { TELEMETRY_GPU_SOURCE: "http" }],
    ["GPU control http without an endpoint", { TELEMETRY_GPU_CONTROL: "http" }],
    ["a shard beyond the shards", { ...pool, POOL_SHARD_ID: "4" }],
    ["a pod beyond the shards", { ...pool, POD_NAME: "joulie-agent-pool-4" }],
    ["several shards and no way to tell which", { ...pool, POD_NAME: "joulie-agent-7d9f-24567" }],
    ["a lease that runs out between passes", { TARGET_LEASE: "10s" }],
  ])("refuses %s", (_, env) => {
    expect(problems(agentConfig, env)).toHaveLength(1);
  });

  it("takes its shard from the pod's ordinal in pool mode", () => {
    expect(valuesOf(agentConfig, { ...pool, POD_NAME: "joulie-agent-pool-3" }).POOL_SHARD_ID).toBe(3);
    expect(valuesOf(agentConfig, { ...pool, POD_NAME: "joulie-agent-pool-3", POOL_SHARD_ID: "1" }).POOL_SHARD_ID).toBe(
      1,
    );
    expect(valuesOf(agentConfig, { AGENT_MODE: "pool", POD_NAME: "joulie-agent-x2x4z" }).POOL_SHARD_ID).toBe(0);
  });

  it.each(["1", "01", "1.0", "1e0"])("is shard 0 of POOL_SHARDS=%s whatever the pod is called", (POOL_SHARDS) => {
    expect(valuesOf(agentConfig, { AGENT_MODE: "pool", POOL_SHARDS, POD_NAME: "agent-x2x4z" }).POOL_SHARD_ID).toBe(0);
  });

  it("names the pod where its ordinal is the problem", () => {
    expect(problems(agentConfig, { ...pool, POD_NAME: "joulie-agent-pool-4" })[0]).toMatch(
      /^POOL_SHARD_ID="4" \(the ordinal at the end of POD_NAME="joulie-agent-pool-4"\) is not below POOL_SHARDS="4"; /,
    );
    expect(problems(agentConfig, pool)[0]).toContain("the ordinal at the end of POD_NAME (not set)");
    expect(problems(agentConfig, { ...pool, POOL_SHARD_ID: "4", POD_NAME: "joulie-agent-pool-2" })[0]).toMatch(
      /^POOL_SHARD_ID="4" is not below /,
    );
  });

  it("does not mind the ordinal of a pod that is in no pool", () => {
    expect(valuesOf(agentConfig, { POD_NAME: "joulie-agent-7" }).POOL_SHARD_ID).toBe(0);
  });

  it("looks for the host's sysfs at /host-sys first, and writes for people on a terminal", () => {
    const inPod: DefaultContext = { isTerminal: true, exists: (path) => path === "/host-sys" };
    const values = valuesOf(agentConfig, {}, inPod);
    expect(values.HOST_SYS_ROOT).toBe("/host-sys");
    expect(values.LOG_FORMAT).toBe("pretty");
  });
});

describe("what the extender's variables have to agree on", () => {
  const pair = { EXTENDER_TLS_CERT_FILE: "/tls/tls.crt", EXTENDER_TLS_KEY_FILE: "/tls/tls.key" };

  it.each<[string, RawValues]>([
    ["a certificate without its key", { EXTENDER_TLS_CERT_FILE: "/tls/tls.crt" }],
    ["a key without its certificate", { EXTENDER_TLS_KEY_FILE: "/tls/tls.key" }],
    ["client certificates over plain HTTP", { EXTENDER_TLS_CLIENT_CA_FILE: "/tls/ca.crt" }],
    ["one port for two servers", { METRICS_ADDR: ":9876" }],
    ["one port for two servers, one of them on every interface", { METRICS_ADDR: "127.0.0.1:9876" }],
  ])("refuses %s", (_, env) => {
    expect(problems(extenderConfig, env)).toHaveLength(1);
  });

  it.each<[string, RawValues]>([
    ["TLS", pair],
    ["TLS with client certificates", { ...pair, EXTENDER_TLS_CLIENT_CA_FILE: "/tls/ca.crt" }],
    ["any two free ports", { EXTENDER_ADDR: ":0", METRICS_ADDR: ":0" }],
    ["one port on two interfaces", { EXTENDER_ADDR: "10.0.0.1:9876", METRICS_ADDR: "127.0.0.1:9876" }],
  ])("takes %s", (_, env) => {
    expect(problems(extenderConfig, env)).toEqual([]);
  });
});

describe("the endpoints that an agent may call", () => {
  const allowed = (variables: RawValues) => valuesOf(agentConfig, variables)["TELEMETRY_ALLOWED_ENDPOINTS"];

  it("are by default the origins of its endpoint variables, and in pool mode this machine as well", () => {
    const variables = {
      TELEMETRY_CPU_HTTP_ENDPOINT: "https://bmc.example:8443/t/{node}",
      TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: "https://bmc.example:8443/c/{node}",
      TELEMETRY_GPU_HTTP_ENDPOINT: "http://{node}:9000/t",
      TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: "https://user:secret@gpu.example/{node}",
    };
    const origins = ["https://bmc.example:8443", "http://{node}:9000", "https://gpu.example"].map((origin) => ({
      kind: "origin",
      origin,
    }));
    expect(allowed(variables)).toEqual(origins);
    expect(allowed({ ...variables, AGENT_MODE: "pool" })).toEqual([...origins, { kind: "loopback" }]);
    expect(allowed({})).toEqual([]);
    expect(allowed({ AGENT_MODE: "pool", TELEMETRY_ALLOWED_ENDPOINTS: "none" })).toEqual([]);
  });
});
