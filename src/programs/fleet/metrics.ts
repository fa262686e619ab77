import { metric } from "../../platform/metrics/index.ts";

const gauge = <const Label extends string>(name: string, help: string, labels: readonly Label[]) =>
  metric({ name, help, type: "gauge", labels });

export const definitions = {
  nodePower: gauge("joulie_simulator_node_power_watts", "What a simulated node draws, GPUs included, in watts.", [
    "node",
  ]),
  nodeEnergy: gauge(
    "joulie_simulator_node_energy_joules",
    "What a simulated node has used since the simulator started, in joules.",
    ["node"],
  ),
  nodeTemperature: gauge("joulie_simulator_node_temperature_celsius", "How warm a simulated node is.", ["node"]),
  nodePods: gauge("joulie_simulator_node_pods", "Pods at work on a simulated node.", ["node"]),
  cpuCap: gauge(
    "joulie_simulator_node_cpu_cap_watts",
    "The cap of each CPU package that is enforced, in watts; absent where none was set.",
    ["node"],
  ),
  gpuCap: gauge(
    "joulie_simulator_node_gpu_cap_watts",
    "The cap of each GPU that is enforced, in watts; absent where none was set.",
    ["node"],
  ),
  ambient: gauge(
    "datacenter_ambient_temperature_celsius",
    "The air that simulated nodes breathe, in degrees Celsius.",
    [],
  ),
  outside: gauge("datacenter_outside_temperature_celsius", "The air outside of the building, in degrees Celsius.", []),
  itPower: gauge("datacenter_total_it_power_watts", "What all simulated nodes draw, in watts.", []),
  coolingPower: gauge("datacenter_cooling_power_watts", "What the building draws besides its nodes, in watts.", []),
  zoneAmbient: gauge("datacenter_zone_ambient_temperature_celsius", "The air in a cooling zone, in degrees Celsius.", [
    "zone",
  ]),
  zoneItPower: gauge("datacenter_zone_it_power_watts", "What the nodes of a cooling zone draw, in watts.", ["zone"]),
  zoneCoolingPower: gauge("datacenter_zone_cooling_power_watts", "What cooling a zone draws, in watts.", ["zone"]),
  rackPower: gauge("datacenter_rack_power_watts", "What the nodes of a rack draw, in watts.", ["rack"]),
  energy: metric({
    name: "joulie_simulator_energy_joules_total",
    help: "What all simulated nodes have used since the simulator started, in joules.",
    type: "counter",
    labels: [],
  }),
  seconds: metric({
    name: "joulie_simulator_simulated_seconds_total",
    help: "Simulated time since the simulator started, in seconds.",
    type: "counter",
    labels: [],
  }),
  registered: gauge("joulie_simulator_nodes_registered", "Simulated nodes that are in the cluster.", []),
  behind: gauge("joulie_simulator_pods_to_report", "Pods whose state the API server has not been told yet.", []),
  podWrites: metric({
    name: "joulie_simulator_pod_writes_total",
    help: "What was told of pods: that they run, that they succeeded, that they failed because they were told to end, that they are gone.",
    type: "counter",
    labels: ["what"],
  }),
  writeErrors: metric({
    name: "joulie_simulator_write_errors_total",
    help: "Writes that failed, by what was to be written; they are tried again.",
    type: "counter",
    labels: ["kind"],
  }),
  submitted: metric({
    name: "joulie_simulator_jobs_submitted_total",
    help: "Jobs that were submitted as pods.",
    type: "counter",
    labels: [],
  }),
  withheld: metric({
    name: "joulie_simulator_jobs_withheld_total",
    help: "Jobs that were not submitted because too many pods were in the cluster.",
    type: "counter",
    labels: [],
  }),
  capChanges: metric({
    name: "joulie_simulator_cap_changes_total",
    help: "How often caps and throttles of simulated nodes changed.",
    type: "counter",
    labels: [],
  }),
  heldPods: metric({
    name: "joulie_simulator_performance_pods_held_total",
    help: "Performance pods that worked on a node capped below the performance level.",
    type: "counter",
    labels: [],
  }),
  heldSeconds: metric({
    name: "joulie_simulator_performance_pods_held_seconds_total",
    help: "Simulated seconds that performance pods worked on nodes capped below the performance level.",
    type: "counter",
    labels: [],
  }),
} as const;
