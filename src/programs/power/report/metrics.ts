import { nodePowerStates } from "../../../core/api/index.ts";
import { counter, gauge, metric } from "../../../platform/metrics/index.ts";

export const definitions = {
  state: metric({
    name: "joulie_power_node_state",
    help: "Power state of a node with a PowerEndpoint, as in NodeTwin.status.power.",
    type: "states",
    labels: ["node", "state"],
    states: nodePowerStates,
  }),
  sleeps: counter("joulie_power_sleeps_total", "Sleeps that ended, by result.", ["result"]),
  wakes: counter("joulie_power_wakes_total", "Wakes that ended, by result.", ["result"]),
  wakeSeconds: metric({
    name: "joulie_power_wake_duration_seconds",
    help: "Duration of wakes, from the decision until pods may run, in seconds.",
    type: "histogram",
    labels: [],
    buckets: [30, 60, 120, 180, 240, 300, 420, 600, 900, 1800],
  }),
  switchErrors: counter("joulie_power_switch_errors_total", "Failed calls of power switches, by reason.", ["reason"]),
  leading: gauge("joulie_power_leading", "1 if this replica is the leader, which switches machines, else 0.", []),
} as const;
