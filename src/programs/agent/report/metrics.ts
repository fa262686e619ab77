import { counter, gauge, metric } from "../../../platform/metrics/index.ts";

export const definitions = {
  mode: metric({
    name: "joulie_backend_mode",
    help: "The backend that enforces the node's CPU cap.",
    type: "states",
    labels: ["node", "mode"],
    states: ["none", "rapl", "dvfs"],
  }),
  capWatts: gauge("joulie_policy_cap_watts", "The CPU cap of the target in watts per package, by policy.", [
    "node",
    "policy",
  ]),
  energy: gauge("joulie_rapl_energy_uj", "The package's energy counter in microjoules; it wraps around.", [
    "node",
    "zone",
  ]),
  zonePower: gauge("joulie_rapl_estimated_power_watts", "Mean power of the package since the last tick, in watts.", [
    "node",
    "zone",
  ]),
  packagePower: gauge(
    "joulie_rapl_package_total_power_watts",
    "Mean power of all packages since the last tick, in watts.",
    ["node"],
  ),
  observed: gauge("joulie_dvfs_observed_power_watts", "CPU power as observed by the DVFS controller, in watts.", [
    "node",
  ]),
  ema: gauge(
    "joulie_dvfs_ema_power_watts",
    "Moving average of the CPU power that the DVFS controller regulates, in watts.",
    ["node"],
  ),
  throttle: gauge("joulie_dvfs_throttle_pct", "Share of the CPUs that is throttled, in percent.", ["node"]),
  above: gauge("joulie_dvfs_above_trip_count", "Consecutive ticks with average power above the band.", ["node"]),
  below: gauge("joulie_dvfs_below_trip_count", "Consecutive ticks with average power below the band.", ["node"]),
  actions: counter("joulie_dvfs_actions_total", "Changes of the throttle by the DVFS controller.", ["node", "action"]),
  currentFrequency: gauge(
    "joulie_dvfs_cpu_cur_freq_khz",
    "Current frequency of a cpufreq policy while throttling, in kilohertz.",
    ["node", "cpu"],
  ),
  maximumFrequency: gauge("joulie_dvfs_cpu_max_freq_khz", "Maximum frequency of a cpufreq policy, in kilohertz.", [
    "node",
    "cpu",
  ]),
  errors: counter("joulie_reconcile_errors_total", "Ticks that failed, or in which a device's result was an error.", [
    "node",
  ]),
  unproven: gauge("joulie_cap_unproven", "1 until the cap has held under load; absent without a cap.", [
    "node",
    "device",
  ]),
  alarm: gauge("joulie_cap_alarm", "1 while a cap is not effective or another program keeps changing it, else 0.", [
    "node",
    "device",
    "reason",
  ]),
  skipped: counter(
    "joulie_agent_nodes_skipped_total",
    "Skipped ticks: the one before still ran (pending), or nothing answered (silent).",
    ["reason"],
  ),
  ticks: metric({
    name: "joulie_agent_tick_duration_seconds",
    help: "Duration of a node's tick, in seconds.",
    type: "histogram",
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10],
  }),
} as const;
