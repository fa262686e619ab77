import { counter, gauge, metric } from "../../platform/metrics/index.ts";

/** From a few names to 64 MiB of whole Nodes; kube-scheduler's default timeout is 5 s. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export const definitions = {
  filterRequests: counter("joulie_scheduler_filter_requests_total", "Answered /filter requests, by the pod's class.", [
    "workload_class",
  ]),
  filterDurations: metric({
    name: "joulie_scheduler_filter_duration_seconds",
    help: "Time from the first byte of a /filter request until its answer was computed, in seconds.",
    type: "histogram",
    labels: ["workload_class"],
    buckets: DURATIONS,
  }),
  prioritizeRequests: counter(
    "joulie_scheduler_prioritize_requests_total",
    "Answered /prioritize requests, by the pod's class.",
    ["workload_class"],
  ),
  prioritizeDurations: metric({
    name: "joulie_scheduler_prioritize_duration_seconds",
    help: "Time from the first byte of a /prioritize request until its answer was computed, in seconds.",
    type: "histogram",
    labels: ["workload_class"],
    buckets: DURATIONS,
  }),
  refused: counter("joulie_scheduler_refused_requests_total", "Rejected requests, by HTTP status.", ["status"]),
  closedConnections: counter(
    "joulie_scheduler_closed_connections_total",
    "Silent, idle or stalled connections that were closed in favour of others.",
    [],
  ),
  finalScore: gauge(
    "joulie_scheduler_final_node_score",
    "Last score of the node for a pod of the class, 0 to SCORE_MAX.",
    ["node", "workload_class"],
  ),
  headroom: gauge(
    "joulie_scheduler_node_headroom_score",
    "Free share of the node's power budget without the new pod, in percent.",
    ["node"],
  ),
  stale: gauge(
    "joulie_scheduler_stale_twin_data",
    "1 if the node's twin is missing or older than TWIN_STALENESS_THRESHOLD, else 0.",
    ["node"],
  ),
  silence: gauge(
    "joulie_scheduler_api_silence_seconds",
    "Longest time since an event from the API about nodes, twins or hardware, in seconds.",
    [],
  ),
  scorings: counter(
    "joulie_scheduler_energy_requests_total",
    "/prioritize requests with SCORING=energy, by the formula that answered, and why it was headroom.",
    ["scoring", "reason"],
  ),
  fallbackNodes: counter(
    "joulie_scheduler_energy_unknown_nodes_total",
    "Candidates with unknown hardware that got the headroom score although SCORING is energy.",
    [],
  ),
  pods: gauge("joulie_scheduler_pods", "Pods on nodes that count for SCORING=energy, assumed ones included.", []),
  assumedPods: gauge(
    "joulie_scheduler_assumed_pods",
    "Pods that count on the node ranked first for them until they are bound.",
    [],
  ),
  held: gauge("joulie_scheduler_request_bytes", "Bytes of requests in progress and their answers.", []),
} as const;
