/**
 * What a sample covers: the label that a query sets with `label_replace`. Without it a sample is of packages and boards. The label
 * tells a meter of the whole server, or packages without boards, from the node's packages and boards.
 */
export const COVERS_LABEL = "joulie_covers";
export type Coverage = "cpu" | "gpu" | "server";

const covering = (coverage: Coverage, query: string): string =>
  `label_replace(${query}, "${COVERS_LABEL}", "${coverage}", "", "")`;

/** A rate covers two minutes of scrapes: a node that disappeared soon has no value, and a new node reads too low for two minutes. */
const rateOf = (series: string): string => `rate(${series}[2m])`;

/** Without the BMCs that several nodes share, as blades and virtual machines do: their reading is of no single node. */
const platform = (labels: string): string => `(kepler_platform_watts{${labels}} unless on (bmc_id) (${SHARED_BMCS}))`;
const SHARED_BMCS = 'count by (bmc_id) (count by (bmc_id, node_name) (kepler_platform_watts{bmc_id!=""})) > 1';

/**
 * The watts of every node as Kepler measures them, in one query. Kepler 0.10 and later names the node in `node_name`, older ones in
 * `instance`, which Prometheus renames to `exported_instance` unless `honor_labels` is set.
 *
 * CPU zones overlap: `package` contains `core` and `uncore`, and `psys` contains `package`. So `package` is taken, and `psys` on
 * machines without it (`sumPower` decides). Memory is left out, because no cap limits it. So is `kepler_node_platform_joules_total`
 * of Kepler up to 0.9: it may be an estimate, and its label `source` does not tell.
 */
export const keplerQuery = [
  covering(
    "cpu",
    `sum by (node_name, instance, zone) (${rateOf('kepler_node_cpu_joules_total{zone=~"package|psys"}')})`,
  ),
  // Up to 0.9: idle and dynamic energy of each package are two series.
  covering("cpu", `sum by (exported_instance, instance) (${rateOf("kepler_node_package_joules_total")})`),
  // Both: one series for each board, up to 0.9 two.
  covering("gpu", `sum by (node_name, exported_instance, instance) (${rateOf("kepler_node_gpu_joules_total")})`),
  // The BMC over Redfish: power supplies share the load of a chassis; further controls are parts of its highest one.
  covering(
    "server",
    `sum by (node_name, instance) (${[
      `sum by (node_name, instance, chassis_id) (${platform('source_type="PowerSupply"')})`,
      `max by (node_name, instance, chassis_id) (${platform('source_type!="PowerSupply"')})`,
    ].join(" or ")})`,
  ),
].join(" or ");

/** The source of a reading: `kepler` if the query names Kepler's series, because the result does not show it. */
export const sourceOfQuery = (query: string): "kepler" | "prometheus" =>
  /\bkepler_/.test(query) ? "kepler" : "prometheus";
