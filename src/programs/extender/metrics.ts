import { metric } from "../../platform/metrics/index.ts";

/** From names of a few nodes to 64 Mi of whole ones; kube-scheduler gives up after 5 s by default. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export const definitions = {
  filterRequests: metric({
    name: "joulie_scheduler_filter_requests_total",
    help: "Requests to /filter that were answered, by the pod's class.",
    type: "counter",
    labels: ["workload_class"],
  }),
  filterDurations: metric({
    name: "joulie_scheduler_filter_duration_seconds",
    help: "From the first byte of a request to /filter until its answer was made, in seconds.",
    type: "histogram",
    labels: ["workload_class"],
    buckets: DURATIONS,
  }),
  prioritizeRequests: metric({
    name: "joulie_scheduler_prioritize_requests_total",
    help: "Requests to /prioritize that were answered, by the pod's class.",
    type: "counter",
    labels: ["workload_class"],
  }),
  prioritizeDurations: metric({
    name: "joulie_scheduler_prioritize_duration_seconds",
    help: "From the first byte of a request to /prioritize until its answer was made, in seconds.",
    type: "histogram",
    labels: ["workload_class"],
    buckets: DURATIONS,
  }),
  refused: metric({
    name: "joulie_scheduler_refused_requests_total",
    help: "Requests that got no decision, by the status they were answered with.",
    type: "counter",
    labels: ["status"],
  }),
  closedConnections: metric({
    name: "joulie_scheduler_closed_connections_total",
    help: "Connections closed to make room for others: silent, idle or stalled ones.",
    type: "counter",
    labels: [],
  }),
  finalScore: metric({
    name: "joulie_scheduler_final_node_score",
    help: "The score that a node was last given for a pod of the class, 0 to SCORE_MAX.",
    type: "gauge",
    labels: ["node", "workload_class"],
  }),
  headroom: metric({
    name: "joulie_scheduler_node_headroom_score",
    help: "Share of a node's power budget that is free before a pod comes, in percent: measured, else predicted.",
    type: "gauge",
    labels: ["node"],
  }),
  stale: metric({
    name: "joulie_scheduler_stale_twin_data",
    help: "1 where a node's twin is missing or older than TWIN_STALENESS_THRESHOLD, so that the node gets the neutral score; else 0.",
    type: "gauge",
    labels: ["node"],
  }),
  silence: metric({
    name: "joulie_scheduler_api_silence_seconds",
    help: "Since when the Kubernetes API has said nothing about nodes, twins or hardware, whichever is longest, in seconds.",
    type: "gauge",
    labels: [],
  }),
  waiting: metric({
    name: "joulie_scheduler_waiting_requests",
    help: "Requests that wait for room in memory.",
    type: "gauge",
    labels: [],
  }),
  held: metric({
    name: "joulie_scheduler_request_bytes",
    help: "Bytes of requests that are being read or answered.",
    type: "gauge",
    labels: [],
  }),
} as const;
