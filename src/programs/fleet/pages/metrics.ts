import { counter, gauge } from "../../../platform/metrics/index.ts";

export const definitions = {
  nodePower: gauge("joulie_simulator_node_power_watts", "Power of a simulated node including GPUs, in watts.", [
    "node",
  ]),
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
  registered: gauge("joulie_simulator_nodes_registered", "Simulated nodes registered in the cluster.", []),
  writeErrors: counter("joulie_simulator_write_errors_total", "Failed writes by kind; they are retried.", ["kind"]),
  heldPods: counter(
    "joulie_simulator_performance_pods_held_total",
    "Performance pods that ran on a node capped below the performance level.",
    [],
  ),
} as const;
