import { counter, gauge } from "../../../platform/metrics/index.ts";

export const definitions = {
  nodePower: gauge("joulie_simulator_node_power_watts", "Power of a simulated node including GPUs, in watts.", [
    "node",
  ]),
  nodeEnergy: gauge(
    "joulie_simulator_node_energy_joules",
    "Energy used by a simulated node since the start, in joules.",
    ["node"],
  ),
  nodeTemperature: gauge(
    "joulie_simulator_node_temperature_celsius",
    "Temperature of a simulated node in degrees Celsius.",
    ["node"],
  ),
  nodePods: gauge("joulie_simulator_node_pods", "Pods running on a simulated node.", ["node"]),
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
  outside: gauge("datacenter_outside_temperature_celsius", "Outside air temperature, in degrees Celsius.", []),
  itPower: gauge("datacenter_total_it_power_watts", "Total power of all simulated nodes, in watts.", []),
  coolingPower: gauge("datacenter_cooling_power_watts", "Facility power besides the nodes, in watts.", []),
  zoneAmbient: gauge(
    "datacenter_zone_ambient_temperature_celsius",
    "Air temperature of a cooling zone, in degrees Celsius.",
    ["zone"],
  ),
  zoneItPower: gauge("datacenter_zone_it_power_watts", "Power of the nodes in a cooling zone, in watts.", ["zone"]),
  zoneCoolingPower: gauge("datacenter_zone_cooling_power_watts", "Cooling power of a zone, in watts.", ["zone"]),
  rackPower: gauge("datacenter_rack_power_watts", "Power of the nodes in a rack, in watts.", ["rack"]),
  energy: counter(
    "joulie_simulator_energy_joules_total",
    "Energy used by all simulated nodes since the start, in joules.",
    [],
  ),
  seconds: counter("joulie_simulator_simulated_seconds_total", "Simulated time since the start, in seconds.", []),
  registered: gauge("joulie_simulator_nodes_registered", "Simulated nodes registered in the cluster.", []),
  behind: gauge("joulie_simulator_pods_to_report", "Pods with pending status writes.", []),
  podWrites: counter(
    "joulie_simulator_pod_writes_total",
    "Pod writes by kind: running, succeeded, failed (terminated early), deleted.",
    ["what"],
  ),
  writeErrors: counter("joulie_simulator_write_errors_total", "Failed writes by kind; they are retried.", ["kind"]),
  submitted: counter("joulie_simulator_jobs_submitted_total", "Jobs submitted as pods.", []),
  withheld: counter("joulie_simulator_jobs_withheld_total", "Jobs not submitted because of the pod limit.", []),
  capChanges: counter("joulie_simulator_cap_changes_total", "Changes of caps and throttles on simulated nodes.", []),
  heldPods: counter(
    "joulie_simulator_performance_pods_held_total",
    "Performance pods that ran on a node capped below the performance level.",
    [],
  ),
  heldSeconds: counter(
    "joulie_simulator_performance_pods_held_seconds_total",
    "Simulated pod-seconds of performance pods on nodes capped below the performance level.",
    [],
  ),
} as const;
