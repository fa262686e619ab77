import { metric } from "../../platform/metrics/index.ts";

/** From a few names to 64 MiB of whole Nodes; kube-scheduler's default timeout is 5 s. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export const definitions = {
  filterRequests: metric({
    name: "joulie_scheduler_filter_requests_total",
    help: "Answered /filter requests, by the pod's class.",
    type: "counter",
    labels: ["workload_class"],
  }),
  filterDurations: metric({
    name: "joulie_scheduler_filter_duration_seconds",
    help: "Time from the first byte of a /filter request until its answer was computed, in seconds.",
    type: "histogram",
    labels: ["workload_class"],
    buckets: DURATIONS,
  }),
  prioritizeRequests: metric({
    name: "joulie_scheduler_prioritize_requests_total",
    help: "Answered /prioritize requests, by the pod's class.",
    type: "counter",
    labels: ["workload_class"],
  }),
  prioritizeDurations: metric({
    name: "joulie_scheduler_prioritize_duration_seconds",
    help: "Time from the first byte of a /prioritize request until its answer was computed, in seconds.",
    type: "histogram",
    labels: ["workload_class"],
    buckets: DURATIONS,
  }),
  refused: metric({
    name: "joulie_scheduler_refused_requests_total",
    help: "Rejected requests, by HTTP status.",
    type: "counter",
    labels: ["status"],
  }),
  closedConnections: metric({
    name: "joulie_scheduler_closed_connections_total",
    help: "Silent, idle or stalled connections that were closed in favour of others.",
    type: "counter",
    labels: [],
  }),
  finalScore: metric({
    name: "joulie_scheduler_final_node_score",
    help: "Last score of the node for a pod of the class, 0 to SCORE_MAX.",
    type: "gauge",
    labels: ["node", "workload_class"],
  }),
  headroom: metric({
    name: "joulie_scheduler_node_headroom_score",
    help: "Free share of the node's power budget without the new pod, in percent: measured, else predicted.",
    type: "gauge",
    labels: ["node"],
  }),
  stale: metric({
    name: "joulie_scheduler_stale_twin_data",
    help: "1 if the node's twin is missing or older than TWIN_STALENESS_THRESHOLD, so that the node gets the neutral score; else 0.",
    type: "gauge",
    labels: ["node"],
  }),
  silence: metric({
    name: "joulie_scheduler_api_silence_seconds",
    help: "Time since the last event from the Kubernetes API about nodes, twins or hardware, whichever is longest, in seconds.",
    type: "gauge",
    labels: [],
  }),
  scorings: metric({
    name: "joulie_scheduler_energy_requests_total",
    help: "/prioritize requests with SCORING=energy, by the formula that answered; the reason says why it was headroom: forbidden, unsynced or stale pods.",
    type: "counter",
    labels: ["scoring", "reason"],
  }),
  fallbackNodes: metric({
    name: "joulie_scheduler_energy_unknown_nodes_total",
    help: "Candidates with unknown hardware that got the headroom score although SCORING is energy.",
    type: "counter",
    labels: [],
  }),
  pods: metric({
    name: "joulie_scheduler_pods",
    help: "Pods on nodes that count for SCORING=energy, assumed ones included.",
    type: "gauge",
    labels: [],
  }),
  assumedPods: metric({
    name: "joulie_scheduler_assumed_pods",
    help: "Pods that count on the node ranked first for them, until their binding appears or two seconds have passed.",
    type: "gauge",
    labels: [],
  }),
  waiting: metric({
    name: "joulie_scheduler_waiting_requests",
    help: "Requests that wait for memory.",
    type: "gauge",
    labels: [],
  }),
  held: metric({
    name: "joulie_scheduler_request_bytes",
    help: "Bytes of requests in progress and their answers.",
    type: "gauge",
    labels: [],
  }),
} as const;
