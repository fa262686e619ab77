import { agentConfig } from "../../src/programs/agent/config.ts";
import * as seen from "./agent-observations.ts";
import { HERE, hereOnly, onHost, THERE } from "./agent-on-host.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const { FOLDER, FREE, SECURE, SERVICE } = seen;
const pool = { AGENT_MODE: "pool" };
const cpuOverHttp = {
  TELEMETRY_CPU_CONTROL: "http",
  TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: `${SERVICE}/control/{node}`,
};
const gpuOverHttp = {
  TELEMETRY_GPU_CONTROL: "http",
  TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: `${SERVICE}/control/{node}`,
};

const inPool = { observe: seen.poolNodes, byDefault: "a b c d e f" };
const capped = "CPU 210 210, GPU 420 420";
const uncapped = "CPU 350 350, GPU 700 700";
const limits = { observe: seen.enforced, byDefault: capped };
const steps = {
  observe: seen.throttling,
  byDefault: "0 0 0 0 0 0 0 0 0 10 10 10 10 20 20 20 20 30 30 30 30 40 40 40 40 40 40 40 40 30 30 30 30",
};
const route = {
  observe: seen.routed,
  byDefault: { cpu: "applied by rapl, 200 W", gpu: "applied by nvml, 300 W", commands: [] },
};
const host = {
  beside: hereOnly,
  observe: onHost,
  byDefault: {
    model: "Intel(R) Xeon(R) Platinum 8480+",
    here: "210 W, originals, lock",
    there: "nvml-trial",
    nvml: "nothing",
  },
};

const table: VariableTable = {
  POD_NAME: [
    { value: "seven", observe: seen.eventInstance, byDefault: "joulie-agent", changed: "seven" },
    {
      ...inPool,
      value: "agent-1",
      beside: { ...pool, POOL_SHARDS: "2", POD_NAME: "agent-0" },
      byDefault: "a c e",
      changed: "b d f",
    },
  ],
  AGENT_MODE: [
    {
      value: "pool",
      observe: seen.mode,
      byDefault: { said: "daemonset", nodes: undefined, writes: 4, cpu: "applied" },
      changed: { said: "pool", nodes: ["a"], writes: 0, cpu: "blocked", kept: true },
    },
    { value: "pool", observe: seen.named, byDefault: "blocked", changed: "applied" },
    { ...inPool, value: "pool", beside: { NODE_NAME: "" }, byDefault: "NODE_NAME is not set", changed: "a b c d e f" },
    {
      ...inPool,
      value: "pool",
      beside: { POD_NAME: "agent-1", POOL_SHARDS: "2" },
      byDefault: "none",
      changed: "b d f",
    },
  ],
  NODE_NAME: { value: "b", observe: seen.nodeReported, byDefault: "a", changed: "b" },
  RECONCILE_INTERVAL: [
    { value: "5s", observe: seen.ticks, byDefault: 3, changed: 12 },
    { value: "20m", observe: seen.warnedOf, byDefault: [], changed: ["package-0", "package-1"] },
    { value: "20m", observe: seen.warnedInterval, byDefault: undefined, changed: "20m" },
  ],
  METRICS_ADDR: { value: FREE, observe: seen.served, byDefault: false, changed: true },
  PRESET: { ...limits, value: "observe", changed: uncapped },
  SIMULATE_ONLY: { ...limits, value: "true", changed: uncapped },
  STATE_DIR: {
    ...host,
    value: `${THERE}/state`,
    // A library that loads successfully removes its marker of an unfinished trial.
    beside: { ...hereOnly, NVML_LIBRARY: `${HERE}/libnvidia-ml.so` },
    byDefault: { here: "210 W, originals, lock", there: "nvml-trial" },
    changed: { here: "210 W", there: "originals, lock" },
  },
  RESTORE_ON_EXIT: { value: "false", observe: seen.leftBehind, byDefault: uncapped, changed: capped },
  TARGET_LEASE: {
    value: "1m",
    observe: seen.withoutApi,
    byDefault: "CPU 300 300, GPU 700 700",
    changed: "CPU 350 350, GPU 700 700",
  },
  TARGET_LEASE_ACTION: {
    value: "eco",
    beside: { TARGET_LEASE: "1m" },
    observe: seen.withoutApi,
    byDefault: "CPU 350 350, GPU 700 700",
    changed: "CPU 210 210, GPU 420 420",
  },

  HARDWARE_CATALOG_PATH: {
    ...route,
    value: `${FOLDER}/catalogue.yaml`,
    beside: { ...pool, ...gpuOverHttp },
    byDefault: { commands: ["a gpu.set_power_cap_watts 420"] },
    changed: { commands: ["a gpu.set_power_cap_watts 300"] },
  },
  HOST_SYS_ROOT: {
    ...host,
    value: `${THERE}/sys`,
    changed: { here: "originals, lock", there: "210 W, nvml-trial" },
  },
  HOST_PROC_ROOT: { ...host, value: `${THERE}/proc`, changed: { model: "AMD EPYC 9654 96-Core Processor" } },
  NVML_LIBRARY: {
    ...host,
    value: `${THERE}/libnvidia-ml.so`,
    changed: { nvml: `NVML library ${THERE}/libnvidia-ml.so` },
  },

  POOL_NODE_SELECTOR: { ...inPool, value: "pool=west", beside: pool, changed: "e f" },
  POOL_SHARDS: [
    { ...inPool, value: "2", beside: { ...pool, POOL_SHARD_ID: "0" }, changed: "a c e" },
    { ...inPool, value: "2", beside: pool, changed: "POOL_SHARD_ID is not set" },
  ],
  POOL_SHARD_ID: {
    ...inPool,
    value: "1",
    beside: { ...pool, POOL_SHARDS: "2", POOL_SHARD_ID: "0" },
    byDefault: "a c e",
    changed: "b d f",
  },

  DVFS_EMA_ALPHA: {
    ...steps,
    value: "1",
    changed: "0 0 0 0 0 0 0 0 0 10 10 10 10 20 20 20 20 30 30 30 30 30 30 30 30 20 20 20 20 10 10 10 10",
  },
  DVFS_HIGH_MARGIN_W: {
    ...steps,
    value: "40",
    changed: "0 0 0 0 0 0 0 0 0 0 0 0 0 10 10 10 10 20 20 20 20 20 20 20 20 20 20 20 20 10 10 10 10",
  },
  DVFS_LOW_MARGIN_W: {
    ...steps,
    value: "60",
    changed: "0 0 0 0 0 0 0 0 0 10 10 10 10 20 20 20 20 30 30 30 30 40 40 40 40 40 40 40 40 40 40 40 40",
  },
  DVFS_STEP_PCT: {
    ...steps,
    value: "25",
    changed: "0 0 0 0 0 0 0 0 0 25 25 25 25 50 50 50 50 75 75 75 75 100 100 100 100 100 100 100 100 75 75 75 75",
  },
  DVFS_COOLDOWN: {
    ...steps,
    value: "1m",
    changed: "0 0 0 0 0 0 0 0 0 10 10 10 10 10 10 20 20 20 20 20 20 30 30 30 30 30 30 30 30 20 20 20 20",
  },
  DVFS_TRIP_COUNT: {
    ...steps,
    value: "4",
    changed: "0 0 0 0 0 0 0 0 0 0 0 0 0 10 10 10 10 10 10 10 10 20 20 20 20 20 20 20 20 20 20 20 20",
  },
  DVFS_MIN_FREQ_KHZ: {
    ...host,
    value: "2000000",
    beside: { ...hereOnly, HOST_SYS_ROOT: `${HERE}/vm/sys`, HOST_PROC_ROOT: `${HERE}/vm/proc` },
    byDefault: { here: "1500 MHz, originals, lock" },
    changed: { here: "2000 MHz, originals, lock" },
  },

  TELEMETRY_CPU_SOURCE: {
    ...route,
    value: "http",
    beside: { TELEMETRY_CPU_HTTP_ENDPOINT: `${SERVICE}/telemetry/{node}` },
    changed: { cpu: "applied by rapl, 333 W" },
  },
  TELEMETRY_CPU_HTTP_ENDPOINT: {
    ...route,
    value: `${SERVICE}/telemetry/{node}`,
    beside: { TELEMETRY_CPU_SOURCE: "http", TELEMETRY_CPU_HTTP_ENDPOINT: `${SERVICE}/telemetry/other` },
    byDefault: { cpu: "applied by rapl, ? W" },
    changed: { cpu: "applied by rapl, 333 W" },
  },
  TELEMETRY_CPU_CONTROL: {
    ...route,
    value: "http",
    beside: { ...cpuOverHttp, TELEMETRY_CPU_CONTROL: "host" },
    changed: { cpu: "applied by http, 200 W", commands: ["a dvfs.set_throttle_pct 40"] },
  },
  TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: {
    ...route,
    value: `${SERVICE}/control/{node}`,
    beside: { ...cpuOverHttp, TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: "http://127.0.0.1:9" },
    byDefault: { cpu: "error by http, 200 W", commands: [] },
    changed: { cpu: "applied by http, 200 W", commands: ["a dvfs.set_throttle_pct 40"] },
  },
  TELEMETRY_CPU_CONTROL_MODE: { ...limits, value: "dvfs", changed: "CPU 350 350, GPU 420 420" },
  TELEMETRY_GPU_SOURCE: {
    ...route,
    value: "http",
    beside: { TELEMETRY_GPU_HTTP_ENDPOINT: `${SERVICE}/telemetry/{node}` },
    changed: { gpu: "applied by nvml, 777 W" },
  },
  TELEMETRY_GPU_HTTP_ENDPOINT: {
    ...route,
    value: `${SERVICE}/telemetry/{node}`,
    beside: { TELEMETRY_GPU_SOURCE: "http", TELEMETRY_GPU_HTTP_ENDPOINT: `${SERVICE}/telemetry/other` },
    byDefault: { gpu: "applied by nvml, ? W" },
    changed: { gpu: "applied by nvml, 777 W" },
  },
  TELEMETRY_GPU_CONTROL: {
    ...route,
    value: "http",
    beside: { ...gpuOverHttp, TELEMETRY_GPU_CONTROL: "host" },
    changed: { gpu: "applied by http, 300 W", commands: ["a gpu.set_power_cap_watts 420"] },
  },
  TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: {
    ...route,
    value: `${SERVICE}/control/{node}`,
    beside: { ...gpuOverHttp, TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: "http://127.0.0.1:9" },
    byDefault: { gpu: "error by http, 300 W", commands: [] },
    changed: { gpu: "applied by http, 300 W", commands: ["a gpu.set_power_cap_watts 420"] },
  },
  TELEMETRY_GPU_CONTROL_MODE: {
    value: "powercap",
    observe: seen.modes,
    byDefault: { cpu: "auto", gpu: "auto" },
    changed: { cpu: "auto", gpu: "powercap" },
  },
  TELEMETRY_HTTP_TIMEOUT_SECONDS: {
    value: "60",
    beside: cpuOverHttp,
    observe: seen.givenUp,
    byDefault: true,
    changed: false,
  },
  TELEMETRY_HTTP_TOKEN_FILE: {
    value: `${FOLDER}/token`,
    beside: cpuOverHttp,
    observe: seen.authorization,
    byDefault: [undefined],
    changed: ["Bearer s3cret"],
  },
  DEBUG_ENDPOINTS: { value: "true", observe: seen.debugPage, byDefault: 403, changed: 200 },
  TELEMETRY_ALLOWED_ENDPOINTS: { value: "127.0.0.0/8", observe: seen.named, byDefault: "blocked", changed: "applied" },
  ALLOW_INSECURE_TOKEN: { value: "true", observe: seen.unencrypted, byDefault: "not allowed", changed: "tried" },
  TELEMETRY_HTTP_CA_FILE: {
    ...route,
    value: `${FOLDER}/ca.crt`,
    beside: { ...gpuOverHttp, TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: `${SECURE}/control/{node}` },
    byDefault: { gpu: "error by http, 300 W" },
    changed: { gpu: "applied by http, 300 W" },
  },
};

describeVariables("agent", agentConfig, table);
