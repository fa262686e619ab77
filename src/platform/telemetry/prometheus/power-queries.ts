/**
 * One query per exporter that returns the watts of every node: CPU packages and GPU boards, which is what caps limit and what the
 * agent reads. Memory and fans are left out, because they do not count against the budget. A rate covers two minutes of scrapes: a
 * node that disappeared soon has no value, and a new node reads too low for two minutes.
 */
export const powerQueries = {
  /** Kepler 0.10 and later. Its zones overlap, so only packages are summed; GPUs have no zone. */
  kepler: `sum by (node_name) (rate({__name__=~"kepler_node_(cpu|gpu)_joules_total",zone=~"package|"}[2m]))`,
  /**
   * Kepler up to 0.9, from the platform meter: idle and dynamic are two series. Kepler's `instance` label is the node; Prometheus
   * renames it to `exported_instance` unless `honor_labels` is set.
   */
  keplerBefore010: `sum by (exported_instance, instance) (rate(kepler_node_platform_joules_total[2m]))`,
  /** node_exporter, for nodes without GPUs. Each counter appears twice, once through MMIO. */
  nodeExporter: `sum by (instance) (rate({__name__=~"node_rapl_package_joules_total",path!~".*mmio.*"}[2m]))`,
} as const;

/** The source of a reading: `kepler` if the query names Kepler's series, because the result does not show it. */
export const sourceOfQuery = (query: string): "kepler" | "prometheus" =>
  /\bkepler_/.test(query) ? "kepler" : "prometheus";
