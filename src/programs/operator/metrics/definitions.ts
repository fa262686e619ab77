import { profiles } from "../../../core/api/index.ts";
import { metric } from "../../../platform/metrics/index.ts";

export const definitions = {
  nodeState: metric({
    name: "joulie_operator_node_state",
    help: "The state of a node in the operator's state machine, as its NodeTwin shows it.",
    type: "states",
    labels: ["node", "state"],
    states: ["ActivePerformance", "DrainingPerformance", "ActiveEco"],
  }),
  profileLabel: metric({
    name: "joulie_operator_node_profile_label",
    help: "The power profile that the node's label shows.",
    type: "states",
    labels: ["node", "profile"],
    states: profiles,
  }),
  density: metric({
    name: "joulie_operator_node_compute_density",
    help: "Compute density of a node, 0 to 1 for each component.",
    type: "gauge",
    labels: ["node", "component"],
  }),
  transitions: metric({
    name: "joulie_operator_state_transitions_total",
    help: "Transitions of a node that were published, each counted once.",
    type: "counter",
    labels: ["node", "from_state", "to_state", "result"],
  }),
  intruders: metric({
    name: "joulie_operator_performance_pods_on_eco",
    help: "Performance-sensitive pods on a node that is published as eco.",
    type: "gauge",
    labels: ["node"],
  }),
  writeErrors: metric({
    name: "joulie_operator_write_errors_total",
    help: "Writes that failed, by what was to be written.",
    type: "counter",
    labels: ["kind"],
  }),
  writes: metric({
    name: "joulie_operator_writes_total",
    help: "Writes that succeeded, by what was written; heartbeat is a twin refreshed without news.",
    type: "counter",
    labels: ["kind"],
  }),
  samplesDropped: metric({
    name: "joulie_operator_power_samples_dropped_total",
    help: "Power samples that were not used, by source and reason.",
    type: "counter",
    labels: ["source", "reason"],
  }),
  passes: metric({
    name: "joulie_operator_pass_duration_seconds",
    help: "How long a pass took to plan and to compare, in seconds.",
    type: "histogram",
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  }),
  leading: metric({
    name: "joulie_operator_leading",
    help: "Whether this replica leads: 1 for the one that decides and writes.",
    type: "gauge",
    labels: [],
  }),
  podsReadable: metric({
    name: "joulie_operator_pods_readable",
    help: "Whether what this replica knows of pods, nodes, twins and NodePowerProfiles is current: at 0 no node goes down. It is no part of /readyz, since a replica that cannot read pods still serves and still raises nodes.",
    type: "gauge",
    labels: [],
  }),
} as const;
