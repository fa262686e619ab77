/**
 * One query per kind of exporter that gives the watts of every node. CPU watts are those of the packages and GPU watts those
 * of the boards, which is what caps limit and what the agent itself reads; memory and fans would make nodes look fuller
 * than their budget says. A rate of joules rests on two minutes of scrapes, so a node that went away
 * soon has no figure, and one that just came has too small a figure for as long.
 */
export const powerQueries = {
  /** Kepler 0.10 and later. Its zones overlap, hence one of them; GPUs have no zone. */
  kepler: `sum by (node_name) (rate({__name__=~"kepler_node_(cpu|gpu)_joules_total",zone=~"package|"}[2m]))`,
  /**
   * Kepler up to 0.9, from the platform's own meter: idle and dynamic are two series. Its own `instance` is the node, and
   * Prometheus calls it `exported_instance` unless told to honour it.
   */
  keplerBefore010: `sum by (exported_instance, instance) (rate(kepler_node_platform_joules_total[2m]))`,
  /** node_exporter, for nodes without GPUs. The same counters show up twice, once by way of MMIO. */
  nodeExporter: `sum by (instance) (rate({__name__=~"node_rapl_package_joules_total",path!~".*mmio.*"}[2m]))`,
} as const;

/** A reading is called `kepler` when the query asks for Kepler's series, for the result no longer tells. */
export const sourceOfQuery = (query: string): "kepler" | "prometheus" =>
  /\bkepler_/.test(query) ? "kepler" : "prometheus";
