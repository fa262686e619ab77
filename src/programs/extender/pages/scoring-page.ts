import type { WorkloadClass } from "../../../core/demand/index.ts";
import {
  type Breakdown,
  batchOf,
  type DebugRow,
  debugReport,
  filterNode,
  type ScoringSettings,
  scoreNode,
} from "../../../core/scoring/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { KnownNode } from "../state/cluster-cache.ts";

/** What the page reads from the cluster cache. */
interface Cluster {
  readonly kernel: { readonly end: number };
  at(slot: number): KnownNode | undefined;
  node(name: string): KnownNode | undefined;
}

/** Takes about a fifth of a millisecond. */
const NODES_PER_CHUNK = 100;
const emptyPod = { cpuCores: 0, gpus: new Map<string, number>(), unreadable: [] };

/** `GET /debug/scoring`: the report in chunks, so that 5,000 nodes do not delay requests. */
export function* scoringPage(
  cluster: Cluster,
  now: Instant,
  settings: ScoringSettings,
): Generator<string, void, undefined> {
  yield `{"coefficients":${JSON.stringify(debugReport([], now, settings).coefficients)},"nodes":[`;
  let comma = "";
  for (let from = 0; from < cluster.kernel.end; from += NODES_PER_CHUNK) {
    const nodes: KnownNode[] = [];
    for (let slot = from; slot < from + NODES_PER_CHUNK; slot++) {
      const node = cluster.at(slot);
      if (node !== undefined) nodes.push(node);
    }
    if (nodes.length === 0) continue;
    const rows = rowsOf(nodes, now, settings);
    yield comma + rows.map((row) => JSON.stringify(row)).join(",");
    comma = ",";
  }
  yield "]}\n";
}

/** `GET /debug/scoring?node=NAME`: one node with the breakdown of its score for an empty pod of each class. */
export function nodeScoringPage(cluster: Cluster, name: string, now: Instant, settings: ScoringSettings): unknown {
  const node = cluster.node(name);
  if (node === undefined) return undefined;
  const { powerProfile, draining } = settings.nodeLabels;
  const batch = batchOf(twinsOf(cluster), now, settings);
  const [row] = rowsOf([node], now, settings);
  const forClass = (workloadClass: WorkloadClass): Breakdown & { readonly rejection?: string | undefined } => ({
    ...scoreNode({ demand: emptyPod, workloadClass }, node, batch, settings),
    rejection: filterNode(workloadClass, node.twin, node.labels[powerProfile], node.labels[draining], {
      // A pod of unknown size: the page shows that the node is kept free.
      pod: { uid: undefined, isOfNode: false, priority: 0, cpu: Infinity, memory: Infinity, now },
    }),
  });
  return {
    ...row,
    cluster: { clusterTrendWPerMin: batch.clusterTrend, perfPressure: batch.perfPressure },
    lastUpdated: node.status?.lastUpdated,
    estimatedPUE: node.status?.estimatedPUE,
    powerProfileLabel: node.labels[powerProfile],
    drainingLabel: node.labels[draining],
    emptyPod: { standard: forClass("standard"), performance: forClass("performance") },
  };
}

const rowsOf = (nodes: readonly KnownNode[], now: Instant, settings: ScoringSettings): readonly DebugRow[] =>
  debugReport(
    nodes.map(({ name, status, hardware }) => ({ name, twin: status, hardware })),
    now,
    settings,
  ).nodes;

function* twinsOf(cluster: Cluster) {
  for (let slot = 0; slot < cluster.kernel.end; slot++) yield cluster.at(slot)?.twin;
}
