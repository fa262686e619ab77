import { fleetConfig } from "../../src/programs/fleet/config.ts";
import * as seen from "./fleet-observations.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const CORES = "112 80 192 112 80 128 112 192 192 128 192 112 112 192 64 64 112 128 128 192";
const fleet = {
  observe: seen.fleet,
  byDefault: { nodes: 20, first: "sim-000", tainted: true, cores: CORES, seed: "1", served: false, metrics: false },
};
const jobs = {
  observe: seen.jobs,
  byDefault: { pods: 94, performance: 27, namespace: "default", scheduler: "default-scheduler" },
};
const switches = {
  observe: seen.switches,
  byDefault: { endpoints: 2, address: "its own", secret: undefined, tests: 0 },
};
const powers = { observe: seen.powerStates, byDefault: "stopping off on" };
const table: VariableTable = {
  SIMULATOR_ADDR: { ...fleet, value: seen.FREE, changed: { served: true, metrics: false } },
  METRICS_ADDR: { ...fleet, value: seen.FREE_METRICS, changed: { served: false, metrics: true } },
  CPU_PERFORMANCE_CAP_PCT_OF_MAX: {
    value: "1",
    observe: seen.slowedPods,
    byDefault: { cpu: true, gpu: true },
    changed: { cpu: false, gpu: true },
  },
  GPU_PERFORMANCE_CAP_PCT_OF_MAX: {
    value: "1",
    observe: seen.slowedPods,
    byDefault: { cpu: true, gpu: true },
    changed: { cpu: true, gpu: false },
  },
  NODES: { ...fleet, value: "7", beside: { NODES: "20" }, changed: { nodes: 7 } },
  NODE_PREFIX: { ...fleet, value: "west", changed: { first: "west-000" } },
  TAINT_NODES: { ...fleet, value: "false", changed: { tainted: false } },
  HEARTBEAT_INTERVAL: { value: "30s", observe: seen.renewals, byDefault: 6, changed: 3 },
  POD_START: {
    value: "1m",
    beside: { POD_START: "2s" },
    observe: seen.phaseOfPod,
    byDefault: "Running",
    changed: "Pending",
  },
  KEEP_OBJECTS: { value: "true", observe: seen.leftBehind, byDefault: 0, changed: 3 },
  SLEEP: {
    ...switches,
    value: "true",
    byDefault: { endpoints: 0, status: 404 },
    changed: { endpoints: 2, status: 200 },
  },
  PROVE_WAKES: { ...switches, value: "true", beside: { SLEEP: "true" }, changed: { tests: 2 } },
  REDFISH_ADDRESS: {
    ...switches,
    value: "http://fleet.test:1",
    beside: { SLEEP: "true" },
    changed: { address: "http://fleet.test:1" },
  },
  REDFISH_PASSWORD: {
    ...switches,
    value: "pa55",
    beside: { SLEEP: "true", REDFISH_SECRET: "bmc" },
    byDefault: { status: 200 },
    changed: { status: 401 },
  },
  REDFISH_SECRET: { ...switches, value: "bmc", beside: { SLEEP: "true" }, changed: { secret: "bmc" } },
  BOOT_TIME: { ...powers, value: "10m", beside: { FAILED_BOOTS: "0" }, changed: "stopping off waking" },
  SHUTDOWN_TIME: { ...powers, value: "10s", beside: { FAILED_BOOTS: "0" }, changed: "off off on" },
  FAILED_BOOTS: { ...powers, value: "1", changed: "stopping off failed" },
  WORKLOAD: { ...jobs, value: "none", changed: { pods: 0 } },
  LOAD: { ...jobs, value: "0.1", changed: { pods: 15, performance: 1 } },
  PERFORMANCE_SHARE: { ...jobs, value: "1", changed: { pods: 94, performance: 94 } },
  BATCH_SHARE: { value: "0.3", observe: seen.batch, byDefault: false, changed: true },
  WORKLOAD_NAMESPACE: { ...jobs, value: "batch", changed: { namespace: "batch" } },
  SCHEDULER_NAME: { ...jobs, value: "mine", changed: { scheduler: "mine" } },
  MAX_PODS: { ...jobs, value: "5", changed: { pods: 5 } },
  FINISHED_PODS_KEPT: { value: "1h", observe: seen.finishedKept, byDefault: false, changed: true },
  SPEED: { value: "10000", observe: seen.isFast, byDefault: false, changed: true },
  SEED: [
    {
      ...fleet,
      value: "7",
      changed: { cores: "112 192 112 80 192 128 112 80 128 192 64 112 192 128 128 112 64 192 192 112", seed: "7" },
    },
    { ...jobs, value: "7", changed: { pods: 90, performance: 26 } },
  ],
};

describeVariables("fleet", fleetConfig, table);
