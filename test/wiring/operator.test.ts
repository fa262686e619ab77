import { join } from "node:path";
import { labels } from "../../src/core/api/index.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import * as seen from "./operator-observations.ts";
import * as meters from "./operator-telemetry.ts";
import { everyProgramRows } from "./started-program.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const everyProgram = everyProgramRows("operator");
const queueAware = { POLICY_TYPE: "queue_aware_v1" };
const { PROMETHEUS } = meters;
const endpoint = { OPERATOR_NODE_POWER_HTTP_ENDPOINT: `${PROMETHEUS}/telemetry/{node}` };
const prometheus = { OPERATOR_NODE_POWER_SOURCE: "prometheus", OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: PROMETHEUS };
const facility = { ENABLE_FACILITY_METRICS: "true", FACILITY_PROMETHEUS_ADDRESS: PROMETHEUS };
const percent = { performance: "CPU 100 %, GPU 100 %", eco: "CPU 60 %, GPU 60 %" };
const absolute = { performance: "CPU 5000 W, GPU 100 %", eco: "CPU 120 W, GPU 60 %" };
const watted = { performance: "CPU 100 %, GPU 100 % 700 W", eco: "CPU 60 %, GPU 60 % 420 W" };
const guideTable = join(import.meta.dirname, "../../docs/guides/cooling-table.csv");
const site = "PUE 1.60, cooling 13.0, PSU 0.1";

const table: VariableTable = {
  ...everyProgram,
  POD_NAME: [
    everyProgram.POD_NAME,
    {
      value: "seven",
      observe: seen.lease,
      byDefault: "joulie-system/joulie-operator operator-0",
      changed: "joulie-system/joulie-operator seven",
    },
    { value: "seven", observe: seen.eventInstance, byDefault: "operator-0", changed: "seven" },
  ],
  POD_NAMESPACE: [
    everyProgram.POD_NAMESPACE,
    {
      value: "power",
      observe: seen.lease,
      byDefault: "joulie-system/joulie-operator operator-0",
      changed: "power/joulie-operator operator-0",
    },
  ],
  LEASE_NAME: {
    value: "north",
    observe: seen.lease,
    byDefault: "joulie-system/joulie-operator operator-0",
    changed: "joulie-system/north operator-0",
  },
  METRICS_ADDR: { value: seen.FREE, observe: seen.served, byDefault: false, changed: true },
  RECONCILE_INTERVAL: [
    { value: "10s", observe: seen.usageAsked, byDefault: 2, changed: 12 },
    {
      value: "30s",
      beside: { POLICY_TYPE: "rule_swap_v1" },
      observe: seen.swaps,
      byDefault: "aaaaabbbbbbb",
      changed: "aabbbbaaabbb",
    },
    {
      value: "10m",
      beside: { ...endpoint, OPERATOR_NODE_POWER_SOURCE: "http" },
      observe: meters.powerLater,
      byDefault: undefined,
      changed: 300,
    },
  ],
  DEBUG_ENDPOINTS: { value: "true", observe: seen.debugPage, byDefault: 403, changed: 200 },
  TWIN_STALENESS_THRESHOLD: { value: "1m", observe: seen.starts, byDefault: true, changed: false },
  PROFILE_MIN_DWELL: {
    value: "0",
    observe: seen.promoted,
    byDefault: "performance, then performance",
    changed: "performance, then eco",
  },
  HARDWARE_CATALOG_PATH: {
    value: `${seen.FOLDER}/catalogue.yaml`,
    beside: { GPU_WRITE_ABSOLUTE_CAPS: "true" },
    observe: seen.caps,
    byDefault: watted,
    changed: { performance: "CPU 100 %, GPU 100 % 500 W", eco: "CPU 60 %, GPU 60 % 300 W" },
  },
  TWIN_HEARTBEAT: { value: "1m", observe: seen.refreshes, byDefault: 2, changed: 10 },
  WRITE_NODE_POWER_PROFILES: { value: "true", observe: seen.mirrored, byDefault: [], changed: ["a", "b"] },

  NODE_SELECTOR: { value: "team=blue", observe: seen.managed, byDefault: "blue mine plain", changed: "blue" },
  RESERVED_LABEL_KEY: {
    value: "site.example/mine",
    observe: seen.managed,
    byDefault: "blue mine plain",
    changed: "blue plain reserved",
  },
  POWER_PROFILE_LABEL: {
    value: "site.example/profile",
    observe: seen.drainingLabels,
    byDefault: { [labels.powerProfile]: "eco", [labels.draining]: "true" },
    changed: { "site.example/profile": "eco", [labels.draining]: "true" },
  },
  DRAINING_LABEL: {
    value: "site.example/draining",
    observe: seen.drainingLabels,
    byDefault: { [labels.powerProfile]: "eco", [labels.draining]: "true" },
    changed: { [labels.powerProfile]: "eco", "site.example/draining": "true" },
  },
  GPU_PRODUCT_LABEL_KEYS: {
    value: "site.example/gpu",
    beside: { GPU_WRITE_ABSOLUTE_CAPS: "true" },
    observe: seen.caps,
    byDefault: watted,
    changed: { performance: "CPU 100 %, GPU 100 % 350 W", eco: "CPU 60 %, GPU 60 % 210 W" },
  },

  POLICY_TYPE: [
    {
      value: "queue_aware_v1",
      observe: seen.classes,
      byDefault: "5 performance, 5 eco",
      changed: "6 performance, 4 eco",
    },
    {
      value: "fit_aware_v1",
      observe: seen.classes,
      byDefault: "5 performance, 5 eco",
      changed: "2 performance, 8 eco",
    },
  ],
  FIT_RESERVE: {
    value: "0",
    beside: { POLICY_TYPE: "fit_aware_v1" },
    observe: seen.classes,
    byDefault: "2 performance, 8 eco",
    changed: "1 performance, 9 eco",
  },
  SLEEP_MODE: [
    { value: "on", observe: seen.sleeping, byDefault: "0 off, 0 recommended", changed: "2 off, 0 recommended" },
    { value: "recommend", observe: seen.sleeping, byDefault: "0 off, 0 recommended", changed: "0 off, 2 recommended" },
  ],
  SLEEP_AFTER: {
    value: "1h",
    beside: { SLEEP_MODE: "on" },
    observe: seen.sleeping,
    byDefault: "2 off, 0 recommended",
    changed: "0 off, 0 recommended",
  },
  SLEEP_ZONE_SHARE: {
    value: "0.1",
    beside: { SLEEP_MODE: "on" },
    observe: seen.sleeping,
    byDefault: "2 off, 0 recommended",
    changed: "0 off, 0 recommended",
  },
  SLEEP_SCHEDULERS: {
    value: "volcano",
    beside: { SLEEP_MODE: "on" },
    observe: seen.keptForArrivals,
    byDefault: "0 off, 0 recommended",
    changed: "2 off, 0 recommended",
  },
  SLEEP_RESERVE_QUANTILE: {
    value: "0",
    beside: { SLEEP_MODE: "on" },
    observe: seen.keptForArrivals,
    byDefault: "0 off, 0 recommended",
    changed: "2 off, 0 recommended",
  },
  ECO_CLOCK_SHARE: {
    value: "0.5",
    beside: { ECO_MAX_SLOWDOWN_PCT: "70" },
    observe: seen.caps,
    byDefault: { performance: "CPU 100 %, GPU 100 %", eco: "GPU 64.2 %" },
    changed: { performance: "CPU 100 %, GPU 100 %", eco: "GPU 51.2 %" },
  },
  PRESET: {
    value: "energy-sleep",
    observe: seen.sleeping,
    byDefault: "0 off, 0 recommended",
    changed: "2 off, 0 recommended",
  },
  ECO_MAX_SLOWDOWN_PCT: [
    {
      value: "10",
      observe: seen.caps,
      byDefault: { performance: "CPU 100 %, GPU 100 %", eco: "CPU 60 %, GPU 60 %" },
      changed: { performance: "CPU 100 %, GPU 100 %", eco: "GPU 85.5 %" },
    },
    { value: "10", observe: seen.queuedCap, byDefault: "60, then 60", changed: "89.3, then 94.3" },
  ],
  STATIC_HP_FRAC: {
    value: "0.2",
    observe: seen.classes,
    byDefault: "5 performance, 5 eco",
    changed: "2 performance, 8 eco",
  },
  QUEUE_HP_BASE_FRAC: {
    value: "0.8",
    beside: queueAware,
    observe: seen.classes,
    byDefault: "6 performance, 4 eco",
    changed: "8 performance, 2 eco",
  },
  QUEUE_HP_MIN: {
    value: "9",
    beside: queueAware,
    observe: seen.classes,
    byDefault: "6 performance, 4 eco",
    changed: "9 performance, 1 eco",
  },
  QUEUE_HP_MAX: {
    value: "3",
    beside: queueAware,
    observe: seen.classes,
    byDefault: "6 performance, 4 eco",
    changed: "3 performance, 7 eco",
  },
  QUEUE_PERF_PER_HP_NODE: {
    value: "1.5",
    beside: queueAware,
    observe: seen.classes,
    byDefault: "6 performance, 4 eco",
    changed: "8 performance, 2 eco",
  },
  DRAINING_CAPS: { value: "eco", observe: seen.drainingCap, byDefault: 100, changed: 60 },

  CPU_WRITE_ABSOLUTE_CAPS: { value: "true", observe: seen.caps, byDefault: percent, changed: absolute },
  PERFORMANCE_CAP_WATTS: {
    value: "300",
    beside: { CPU_WRITE_ABSOLUTE_CAPS: "true" },
    observe: seen.caps,
    byDefault: absolute,
    changed: { ...absolute, performance: "CPU 300 W, GPU 100 %" },
  },
  ECO_CAP_WATTS: {
    value: "90",
    beside: { CPU_WRITE_ABSOLUTE_CAPS: "true" },
    observe: seen.caps,
    byDefault: absolute,
    changed: { ...absolute, eco: "CPU 90 W, GPU 60 %" },
  },
  CPU_PERFORMANCE_CAP_PCT_OF_MAX: {
    value: "90",
    observe: seen.caps,
    byDefault: percent,
    changed: { ...percent, performance: "CPU 90 %, GPU 100 %" },
  },
  CPU_ECO_CAP_PCT_OF_MAX: {
    value: "55",
    observe: seen.caps,
    byDefault: percent,
    changed: { ...percent, eco: "CPU 55 %, GPU 60 %" },
  },
  CPU_CAP_GPU_NODES: {
    value: "false",
    observe: seen.caps,
    byDefault: percent,
    changed: { performance: "GPU 100 %", eco: "GPU 60 %" },
  },
  GPU_WRITE_ABSOLUTE_CAPS: { value: "true", observe: seen.caps, byDefault: percent, changed: watted },
  GPU_PERFORMANCE_CAP_PCT_OF_MAX: {
    value: "90",
    observe: seen.caps,
    byDefault: percent,
    changed: { ...percent, performance: "CPU 100 %, GPU 90 %" },
  },
  GPU_ECO_CAP_PCT_OF_MAX: {
    value: "55",
    observe: seen.caps,
    byDefault: percent,
    changed: { ...percent, eco: "CPU 60 %, GPU 55 %" },
  },
  GPU_MODEL_CAPS_JSON: {
    value: '{"NVIDIA-H100-80GB-HBM3":{"minCapWatts":200,"maxCapWatts":500}}',
    beside: { GPU_WRITE_ABSOLUTE_CAPS: "true" },
    observe: seen.caps,
    byDefault: watted,
    changed: { performance: "CPU 100 %, GPU 100 % 500 W", eco: "CPU 60 %, GPU 60 % 300 W" },
  },

  OPERATOR_NODE_POWER_SOURCE: [
    { value: "http", beside: endpoint, observe: meters.power, byDefault: "static 32 W", changed: "http 300 W" },
    { value: "static", observe: seen.usageAsked, byDefault: 2, changed: 0 },
    {
      value: "http",
      beside: endpoint,
      observe: meters.sourcesTold,
      byDefault: { dropped: [], told: [] },
      changed: { dropped: ["http"], told: [{ answers: "http" }] },
    },
  ],
  OPERATOR_NODE_POWER_HTTP_ENDPOINT: {
    value: `${PROMETHEUS}/telemetry/{node}`,
    beside: { OPERATOR_NODE_POWER_SOURCE: "http", OPERATOR_NODE_POWER_HTTP_ENDPOINT: `${PROMETHEUS}/none` },
    observe: meters.power,
    byDefault: "undefined undefined W",
    changed: "http 300 W",
  },
  PROMETHEUS_ADDRESS: [
    {
      value: PROMETHEUS,
      beside: { OPERATOR_NODE_POWER_SOURCE: "prometheus", PROMETHEUS_ADDRESS: "http://127.0.0.1:9" },
      observe: meters.power,
      byDefault: "undefined undefined W",
      changed: "kepler 210 W",
    },
    {
      value: PROMETHEUS,
      beside: {
        ENABLE_FACILITY_METRICS: "true",
        OPERATOR_NODE_POWER_SOURCE: "static",
        PROMETHEUS_ADDRESS: "http://127.0.0.1:9",
      },
      observe: meters.surroundings,
      byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
      changed: "PUE 1.60, cooling 13.0, PSU 0.1",
    },
  ],
  OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: {
    value: PROMETHEUS,
    beside: { ...prometheus, OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: "http://127.0.0.1:9" },
    observe: meters.power,
    byDefault: "undefined undefined W",
    changed: "kepler 210 W",
  },
  OPERATOR_NODE_POWER_PROMETHEUS_QUERY: {
    value: "mine",
    beside: prometheus,
    observe: meters.power,
    byDefault: "kepler 210 W",
    changed: "prometheus 333 W",
  },
  COOLING_MODEL: {
    value: "table",
    beside: { COOLING_TABLE: guideTable },
    observe: meters.surroundings,
    byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
    changed: "PUE 1.00, cooling 2.6, PSU 0.1",
  },
  COOLING_TABLE: {
    value: join(import.meta.dirname, "cooling-table.csv"),
    beside: { COOLING_MODEL: "table", COOLING_TABLE: guideTable },
    observe: meters.surroundings,
    byDefault: "PUE 1.00, cooling 2.6, PSU 0.1",
    changed: "PUE 1.00, cooling 42.0, PSU 0.1",
  },
  REFERENCE_NODE_POWER_W: [
    {
      value: "1000",
      observe: meters.surroundings,
      byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
      changed: "PUE 1.00, cooling 12.0, PSU 0.1",
    },
    {
      value: "auto",
      observe: meters.surroundings,
      byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
      changed: "PUE 1.00, cooling 80.0, PSU 0.1",
    },
  ],
  REFERENCE_RACK_CAPACITY_W: {
    value: "10000",
    observe: meters.surroundings,
    byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
    changed: "PUE 1.00, cooling 3.0, PSU 0.3",
  },

  ENABLE_FACILITY_METRICS: {
    value: "true",
    beside: { FACILITY_PROMETHEUS_ADDRESS: PROMETHEUS },
    observe: meters.surroundings,
    byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
    changed: "PUE 1.60, cooling 13.0, PSU 0.1",
  },
  FACILITY_PROMETHEUS_ADDRESS: {
    value: PROMETHEUS,
    beside: { ENABLE_FACILITY_METRICS: "true", FACILITY_PROMETHEUS_ADDRESS: "http://127.0.0.1:9" },
    observe: meters.surroundings,
    byDefault: "PUE 1.00, cooling 3.0, PSU 0.1",
    changed: "PUE 1.60, cooling 13.0, PSU 0.1",
  },
  FACILITY_POLL_INTERVAL: {
    value: "10m",
    beside: facility,
    observe: meters.polledAgain,
    byDefault: true,
    changed: false,
  },
  FACILITY_AMBIENT_TEMP_METRIC: {
    value: "warmth",
    beside: facility,
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.60, cooling 8.0, PSU 0.1",
  },
  FACILITY_IT_POWER_METRIC: {
    value: "computing",
    beside: facility,
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.30, cooling 13.0, PSU 0.1",
  },
  FACILITY_COOLING_POWER_METRIC: {
    value: "chilling",
    beside: facility,
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.30, cooling 13.0, PSU 0.1",
  },
  FACILITY_ZONE_AMBIENT_METRIC_TEMPLATE: {
    value: "warmth_of_{zone}",
    beside: facility,
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.60, cooling 6.0, PSU 0.1",
  },
  FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: {
    value: "computing_in_{zone}",
    beside: {
      ...facility,
      FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: "chilling_of_{zone}",
      FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: "none_in_{zone}",
    },
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.20, cooling 13.0, PSU 0.1",
  },
  FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: {
    value: "chilling_of_{zone}",
    beside: {
      ...facility,
      FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: "computing_in_{zone}",
      FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: "none_in_{zone}",
    },
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.20, cooling 13.0, PSU 0.1",
  },
  FACILITY_RACK_POWER_METRIC_TEMPLATE: {
    value: "drawn_by_{rack}",
    beside: facility,
    observe: meters.surroundings,
    byDefault: site,
    changed: "PUE 1.60, cooling 13.0, PSU 50.0",
  },
};

describeVariables("operator", operatorConfig, table);
