import type * as z from "zod";
import {
  address,
  choice,
  configOf,
  duration,
  everyProgram,
  flag,
  flagsOnly,
  group,
  integer,
  number,
  objectName,
  percentage,
} from "../../platform/config/index.ts";

export const workloads = ["day", "none"] as const;

/** A node name is also a label value of at most 63 characters; five are needed for a dash and the number. */
const LONGEST_PREFIX = 58;

const settings = {
  ...group("The simulator", {
    SIMULATOR_ADDR: address({
      default: "127.0.0.1:9878",
      about: "Where telemetry, control, state and queries of the simulated nodes are served. It has no lock.",
    }),
    METRICS_ADDR: address({ default: ":9879", about: "Where metrics and health are served." }),
    CPU_PERFORMANCE_CAP_PCT_OF_MAX: percentage({
      default: "100",
      about: "As the operator has it: a performance pod on a node with a lower CPU cap is recorded.",
    }),
    GPU_PERFORMANCE_CAP_PCT_OF_MAX: percentage({
      default: "100",
      about: "As the operator has it: a performance pod on a node with a lower GPU cap is recorded.",
    }),
  }),
  ...flagsOnly("Simulated nodes", {
    NODES: integer({ min: 1, max: 10_000, default: "40", about: "How many nodes are created." }),
    NODE_PREFIX: objectName({ default: "sim", about: "What the names of the nodes begin with." }),
    TAINT_NODES: flag({
      default: "true",
      about: "Taints the nodes with joulie.io/simulated, so that no real pod is placed where nothing runs.",
    }),
    HEARTBEAT_INTERVAL: duration({ default: "10s", about: "How often each node's Lease is renewed, in real time." }),
    POD_START: duration({
      default: "2s",
      orZero: "at once",
      about: "How long a pod takes from its binding to the start of its work, in simulated time.",
    }),
    KEEP_OBJECTS: flag({ default: "false", about: "Leaves nodes and pods in the cluster at the end." }),
  }),
  ...flagsOnly("Workload", {
    WORKLOAD: choice(workloads, {
      default: "day",
      about: "day: jobs come by the hour of the day; none: nobody submits any.",
    }),
    LOAD: number({
      above: 0,
      max: 10,
      default: "0.6",
      about: "The share of all cores and GPUs that jobs ask for, over a day.",
    }),
    PERFORMANCE_SHARE: number({
      min: 0,
      max: 1,
      default: "0.25",
      about: "The share of jobs that are performance-sensitive.",
    }),
    WORKLOAD_NAMESPACE: objectName({ default: "default", about: "The namespace that jobs are submitted to." }),
    SCHEDULER_NAME: objectName({ default: "default-scheduler", about: "The scheduler that jobs ask for." }),
    MAX_PODS: integer({
      min: 1,
      max: 200_000,
      default: "20000",
      about: "With so many of its pods in the cluster, waiting and finished ones too, no more are submitted.",
    }),
    FINISHED_PODS_KEPT: duration({
      default: "30s",
      about: "How long a finished pod is left to be seen, in real time.",
    }),
  }),
  ...flagsOnly("Time and chance", {
    SPEED: number({
      above: 0,
      max: 10_000,
      default: "1",
      about: "Simulated seconds per second. Programs that share its nodes have to share its time.",
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
    holds: ({ NODE_PREFIX }) => NODE_PREFIX.length <= LONGEST_PREFIX,
    problem: "is too long for the names of nodes",
    allowed: `at most ${LONGEST_PREFIX} characters`,
  },
]);

export type FleetConfig = z.output<typeof fleetConfig>;
