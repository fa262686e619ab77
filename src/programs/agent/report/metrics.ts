import { type GaugeDefinition, metric } from "../../../platform/metrics/index.ts";

export const definitions = {
  mode: metric({
    name: "joulie_backend_mode",
    help: "The backend that enforces the node's CPU cap.",
    type: "states",
    labels: ["node", "mode"],
    states: ["none", "rapl", "dvfs"],
  }),
  capWatts: metric({
    name: "joulie_policy_cap_watts",
    help: "The CPU cap of the target in watts per package, by the policy that requested it.",
    type: "gauge",
    labels: ["node", "policy"],
  }),
  energy: metric({
    name: "joulie_rapl_energy_uj",
    help: "The package's energy counter in microjoules; it wraps around.",
    type: "gauge",
    labels: ["node", "zone"],
  }),
  zonePower: metric({
    name: "joulie_rapl_estimated_power_watts",
    help: "Mean power of the package since the last tick, in watts.",
    type: "gauge",
    labels: ["node", "zone"],
  }),
  packagePower: metric({
    name: "joulie_rapl_package_total_power_watts",
    help: "Mean power of all packages since the last tick, in watts.",
    type: "gauge",
    labels: ["node"],
  }),
  observed: metric({
    name: "joulie_dvfs_observed_power_watts",
    help: "CPU power as observed by the DVFS controller, in watts.",
    type: "gauge",
    labels: ["node"],
  }),
  ema: metric({
    name: "joulie_dvfs_ema_power_watts",
    help: "Moving average of the CPU power that the DVFS controller regulates, in watts.",
    type: "gauge",
    labels: ["node"],
  }),
  throttle: metric({
    name: "joulie_dvfs_throttle_pct",
    help: "Share of the CPUs that is throttled, in percent.",
    type: "gauge",
    labels: ["node"],
  }),
  // These two names are public, but end like a histogram series, so `metric` would reject them.
  above: {
    name: "joulie_dvfs_above_trip_count",
    help: "Consecutive ticks with average power above the band.",
    type: "gauge",
    labels: ["node"],
  } satisfies GaugeDefinition<"node">,
  below: {
    name: "joulie_dvfs_below_trip_count",
    help: "Consecutive ticks with average power below the band.",
    type: "gauge",
    labels: ["node"],
  } satisfies GaugeDefinition<"node">,
  actions: metric({
    name: "joulie_dvfs_actions_total",
    help: "Changes of the throttle by the DVFS controller.",
    type: "counter",
    labels: ["node", "action"],
  }),
  currentFrequency: metric({
    name: "joulie_dvfs_cpu_cur_freq_khz",
    help: "Current frequency of a cpufreq policy's first CPU, in kilohertz; read only while throttling.",
    type: "gauge",
    labels: ["node", "cpu"],
  }),
  maximumFrequency: metric({
    name: "joulie_dvfs_cpu_max_freq_khz",
    help: "Maximum frequency of a cpufreq policy, in kilohertz.",
    type: "gauge",
    labels: ["node", "cpu"],
  }),
  errors: metric({
    name: "joulie_reconcile_errors_total",
    help: "Ticks that failed, or in which a device's result was an error.",
    type: "counter",
    labels: ["node"],
  }),
  unproven: metric({
    name: "joulie_cap_unproven",
    help: "1 until the cap has held under load; absent without a cap.",
    type: "gauge",
    labels: ["node", "device"],
  }),
  alarm: metric({
    name: "joulie_cap_alarm",
    help: "1 while a cap is not effective (CapNotEffective) or another program keeps changing it (CapContested), else 0.",
    type: "gauge",
    labels: ["node", "device", "reason"],
  }),
  skipped: metric({
    name: "joulie_agent_nodes_skipped_total",
    help: "Skipped node ticks: the previous one was still running (pending), or the node's endpoint did not answer (silent).",
    type: "counter",
    labels: ["reason"],
  }),
  ticks: metric({
    name: "joulie_agent_tick_duration_seconds",
    help: "Duration of a node's tick, in seconds.",
    type: "histogram",
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10],
  }),
} as const;
