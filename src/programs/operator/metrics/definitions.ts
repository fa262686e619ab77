import { profiles } from "../../../core/api/index.ts";
import { counter, gauge, metric } from "../../../platform/metrics/index.ts";

export const definitions = {
  nodeState: metric({
    name: "joulie_operator_node_state",
    help: "State of a node in the operator's state machine, as published in its NodeTwin.",
    type: "states",
    labels: ["node", "state"],
    states: ["ActivePerformance", "DrainingPerformance", "ActiveEco"],
  }),
  profileLabel: metric({
    name: "joulie_operator_node_profile_label",
    help: "Power profile in the node's label.",
    type: "states",
    labels: ["node", "profile"],
    states: profiles,
  }),
  density: gauge("joulie_operator_node_compute_density", "Compute density of a node, 0 to 1 for each component.", [
    "node",
    "component",
  ]),
  transitions: counter("joulie_operator_state_transitions_total", "State transitions of a node that were published.", [
    "node",
    "from_state",
    "to_state",
    "result",
  ]),
  power: gauge(
    "joulie_operator_node_power_watts",
    "Power of the packages and boards of a node as in its NodeTwin, in watts.",
    ["node"],
  ),
  cappedPower: gauge(
    "joulie_operator_node_capped_power_watts",
    "Most power that the CPUs and GPUs of a node may draw under their caps, in watts.",
    ["node"],
  ),
  uncappedPower: gauge(
    "joulie_operator_node_uncapped_power_watts",
    "Most power that the CPUs and GPUs of a node draw without caps, in watts.",
    ["node"],
  ),
  energy: counter(
    "joulie_operator_node_energy_joules_total",
    "Energy of a node at the wall, in joules: read by a meter of the whole server, else modelled. Gaps of more than ten minutes are not counted.",
    ["node"],
  ),
  intruders: gauge(
    "joulie_operator_performance_pods_on_eco",
    "Performance-sensitive pods on a node that is published as eco.",
    ["node"],
  ),
  pendingPods: gauge(
    "joulie_operator_pending_performance_pods",
    "Pending performance pods by what fit_aware_v1 has for them; absent with other policies.",
    ["fit"],
  ),
  nodesAsleep: gauge("joulie_operator_nodes_asleep", "Managed nodes that are not on, by NodeTwin.status.power.", []),
  writeErrors: counter("joulie_operator_write_errors_total", "Failed writes, by kind.", ["kind"]),
  writes: counter(
    "joulie_operator_writes_total",
    "Successful writes, by kind; heartbeat is the refresh of an unchanged NodeTwin.",
    ["kind"],
  ),
  samplesDropped: counter(
    "joulie_operator_power_samples_dropped_total",
    "Power samples that were not used, by source and reason.",
    ["source", "reason"],
  ),
  passes: metric({
    name: "joulie_operator_pass_duration_seconds",
    help: "Duration of a planning pass, in seconds.",
    type: "histogram",
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  }),
  placed: counter(
    "joulie_operator_pods_placed_total",
    "Pods that a scheduler bound to a managed node, for the alert JoulieExtenderNotAsked.",
    [],
  ),
  stopped: gauge(
    "joulie_operator_stopped",
    "1 if the annotation joulie.io/stop on the namespace stops Joulie, else 0.",
    [],
  ),
  leading: gauge("joulie_operator_leading", "1 if this replica is the leader, which plans and writes, else 0.", []),
  podsReadable: gauge(
    "joulie_operator_pods_readable",
    "1 if the replica's data about pods, nodes, twins and NodePowerProfiles is current. At 0 no node is downgraded.",
    [],
  ),
} as const;
