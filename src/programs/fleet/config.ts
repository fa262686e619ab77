import type * as z from "zod";
import {
  address,
  choice,
  configOf,
  duration,
  everyProgram,
  flag,
  flagsOnly,
  goesWith,
  group,
  integer,
  number,
  objectName,
  percentage,
  text,
  url,
} from "../../platform/config/index.ts";

export const workloads = ["day", "none"] as const;

/** A node name is also a label value of at most 63 characters; five are needed for a dash and the number. */
const MAX_PREFIX_LENGTH = 58;

const settings = {
  ...group("Addresses and caps", {
    SIMULATOR_ADDR: address({
      default: "127.0.0.1:9878",
      about: "Address of the telemetry, control and query endpoints of simulated nodes. No authentication.",
    }),
    METRICS_ADDR: address({ default: ":9879", about: "Address of the metrics and health endpoints." }),
    CPU_PERFORMANCE_CAP_PCT_OF_MAX: percentage({
      default: "100",
      about: "The operator's setting. Performance pods on nodes with a lower CPU cap are counted as violations.",
    }),
    GPU_PERFORMANCE_CAP_PCT_OF_MAX: percentage({
      default: "100",
      about: "The operator's setting. Performance pods on nodes with a lower GPU cap are counted as violations.",
    }),
  }),
  ...flagsOnly("Simulated nodes", {
    NODES: integer({ min: 1, max: 10_000, default: "40", about: "Number of nodes to create." }),
    NODE_PREFIX: objectName({ default: "sim", about: "Prefix of the node names." }),
    TAINT_NODES: flag({
      default: "true",
      about: "Taints the nodes with joulie.io/simulated, so that real pods are not scheduled to them.",
    }),
    HEARTBEAT_INTERVAL: duration({ default: "10s", about: "Interval between Lease renewals of a node, in real time." }),
    POD_START: duration({
      default: "2s",
      orZero: "at once",
      about: "Time from binding a pod to the start of its work, in simulated time.",
    }),
    KEEP_OBJECTS: flag({ default: "false", about: "Keeps nodes and pods in the cluster on exit." }),
  }),
  ...group("Sleep", {
    REDFISH_ADDRESS: url({
      about:
        "URL of SIMULATOR_ADDR as joulie power reaches it, for PowerEndpoints; by default http:// and the address.",
    }),
    REDFISH_PASSWORD: text({
      allowed: "any text",
      about: "Password of the user joulie, which Redfish requests must have; without it they need none.",
      redact: () => "***",
    }),
    REDFISH_SECRET: objectName({
      about: "Secret with that user and password, in the namespace of joulie power, for PowerEndpoints.",
    }),
  }),
  ...flagsOnly("Sleep", {
    SLEEP: flag({
      default: "false",
      about:
        "Lets the nodes be switched off and on over Redfish at SIMULATOR_ADDR; they get the label joulie.io/may-sleep=true and a PowerEndpoint each.",
    }),
    PROVE_WAKES: flag({
      default: "false",
      about:
        "With --sleep: joulie power tests the wake of every node that has none proven yet, and jobs are submitted when the tests have ended.",
    }),
    BOOT_TIME: duration({
      about: "Time from power on until a node is ready, in simulated time; by default 4m, and 7m with GPUs.",
    }),
    SHUTDOWN_TIME: duration({ default: "1m", about: "Time that a node takes to shut down, in simulated time." }),
    FAILED_BOOTS: number({
      min: 0,
      max: 1,
      default: "0.01",
      about: "Share of boots after which the node hangs until its power is cut.",
    }),
  }),
  ...flagsOnly("Workload", {
    WORKLOAD: choice(workloads, {
      default: "day",
      about: "day: the job rate follows the hour of the day; none: no jobs.",
    }),
    LOAD: number({
      above: 0,
      max: 10,
      default: "0.6",
      about: "Share of all cores and GPUs that jobs request, averaged over a day.",
    }),
    PERFORMANCE_SHARE: number({
      min: 0,
      max: 1,
      default: "0.25",
      about: "Share of performance jobs.",
    }),
    BATCH_SHARE: number({
      min: 0,
      max: 1,
      default: "0",
      about: "With day: share of all cores and GPUs that further jobs request at half past every hour, at once.",
    }),
    WORKLOAD_NAMESPACE: objectName({ default: "default", about: "Namespace of the submitted jobs." }),
    SCHEDULER_NAME: objectName({ default: "default-scheduler", about: "Scheduler name of the submitted jobs." }),
    MAX_PODS: integer({
      min: 1,
      max: 200_000,
      default: "20000",
      about: "Maximum number of its pods in the cluster, including waiting and finished ones.",
    }),
    FINISHED_PODS_KEPT: duration({
      default: "30s",
      about: "How long a finished pod is kept, in real time.",
    }),
  }),
  ...flagsOnly("Time and chance", {
    SPEED: number({
      above: 0,
      max: 10_000,
      default: "1",
      about: "Simulated seconds per real second. Programs that manage these nodes must use the same time.",
    }),
    SEED: integer({
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      default: "1",
      about: "The same seed gives the same nodes and jobs.",
    }),
  }),
  ...everyProgram,
};

export const fleetConfig = configOf(settings, [
  {
    reads: ["NODE_PREFIX"],
    holds: ({ NODE_PREFIX }) => NODE_PREFIX.length <= MAX_PREFIX_LENGTH,
    problem: "is too long for node names",
    allowed: `at most ${MAX_PREFIX_LENGTH} characters`,
  },
  goesWith("REDFISH_PASSWORD", "REDFISH_SECRET"),
]);

export type FleetConfig = z.output<typeof fleetConfig>;
