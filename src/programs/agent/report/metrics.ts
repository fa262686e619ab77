import { type GaugeDefinition, metric } from "../../../platform/metrics/index.ts";

export const definitions = {
  mode: metric({
    name: "joulie_backend_mode",
    help: "What enforces the node's CPU cap.",
    type: "states",
    labels: ["node", "mode"],
    states: ["none", "rapl", "dvfs"],
  }),
  capWatts: metric({
    name: "joulie_policy_cap_watts",
    help: "The CPU cap that the target comes to, in watts per package, by the policy that asked for it.",
    type: "gauge",
    labels: ["node", "policy"],
  }),
  energy: metric({
    name: "joulie_rapl_energy_uj",
    help: "What the package's energy counter shows, in microjoules; it starts over now and then.",
    type: "gauge",
    labels: ["node", "zone"],
  }),
  zonePower: metric({
    name: "joulie_rapl_estimated_power_watts",
    help: "The package's mean power since the last tick, in watts.",
    type: "gauge",
    labels: ["node", "zone"],
  }),
  packagePower: metric({
    name: "joulie_rapl_package_total_power_watts",
    help: "The mean power of all packages since the last tick, in watts.",
    type: "gauge",
    labels: ["node"],
  }),
  observed: metric({
    name: "joulie_dvfs_observed_power_watts",
    help: "The CPU power that the throttle goes by, in watts.",
    type: "gauge",
    labels: ["node"],
  }),
  ema: metric({
    name: "joulie_dvfs_ema_power_watts",
    help: "The smoothed CPU power that the throttle goes by, in watts.",
    type: "gauge",
    labels: ["node"],
  }),
  throttle: metric({
    name: "joulie_dvfs_throttle_pct",
    help: "The share of the CPUs that is throttled, in percent.",
    type: "gauge",
    labels: ["node"],
  }),
  // The public surface has these two names, though they end like a series of a histogram: `metric` would refuse them.
  above: {
    name: "joulie_dvfs_above_trip_count",
    help: "Ticks in a row with smoothed power above the band.",
    type: "gauge",
    labels: ["node"],
  } satisfies GaugeDefinition<"node">,
  below: {
    name: "joulie_dvfs_below_trip_count",
    help: "Ticks in a row with smoothed power below the band.",
    type: "gauge",
    labels: ["node"],
  } satisfies GaugeDefinition<"node">,
  actions: metric({
    name: "joulie_dvfs_actions_total",
    help: "Changes of the throttle by the DVFS loop.",
    type: "counter",
    labels: ["node", "action"],
  }),
  currentFrequency: metric({
    name: "joulie_dvfs_cpu_cur_freq_khz",
    help: "The frequency of a policy's first CPU, in kilohertz; read while the throttle is in use.",
    type: "gauge",
    labels: ["node", "cpu"],
  }),
  maximumFrequency: metric({
    name: "joulie_dvfs_cpu_max_freq_khz",
    help: "The highest frequency that a policy's CPUs may run at, in kilohertz.",
    type: "gauge",
    labels: ["node", "cpu"],
  }),
  errors: metric({
    name: "joulie_reconcile_errors_total",
    help: "Ticks in which a device's result was an error, or that broke off.",
    type: "counter",
    labels: ["node"],
  }),
  unproven: metric({
    name: "joulie_cap_unproven",
    help: "1 while load has not shown that the cap holds; absent without a cap.",
    type: "gauge",
    labels: ["node", "device"],
  }),
  skipped: metric({
    name: "joulie_agent_nodes_skipped_total",
    help: "Ticks of nodes that did not take place: the last one was still under way, or the node's endpoint is left alone.",
    type: "counter",
    labels: ["reason"],
  }),
  ticks: metric({
    name: "joulie_agent_tick_duration_seconds",
    help: "How long a node's tick took, in seconds.",
    type: "histogram",
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10],
  }),
} as const;
