import type { SchedulerNode, SchedulerPod } from "./cluster-view.ts";
import { type Load, weightOf } from "./occupancy.ts";
import { admitsNode, untolerated } from "./placement-rules.ts";

/** Why a node does not fit a pod, in kube-scheduler's wording; undefined when it fits. */
export function unfitReason(pod: SchedulerPod, node: SchedulerNode, load: Load): string | undefined {
  const { waiting } = pod;
  if (waiting === undefined) return "pod is not waiting";
  const { spec } = waiting;
  const tolerations = spec.tolerations ?? [];
  if (node.unschedulable && untolerated([UNSCHEDULABLE], tolerations) !== undefined)
    return "node(s) were unschedulable";
  const taint = untolerated(node.taints, tolerations);
  if (taint !== undefined) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  if (!admitsNode(spec, node.labels, node.name)) return "node(s) didn't match Pod's node affinity/selector";
  return shortage(pod, node, load);
}

const UNSCHEDULABLE = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;

function shortage({ requests }: SchedulerPod, { allocatable }: SchedulerNode, load: Load): string | undefined {
  const room = allocatable.get("pods");
  if (room !== undefined && load.pods + 1 > room) return "Too many pods";
  for (const [resource, amount] of requests) {
    if (amount === 0) continue;
    const free = (allocatable.get(resource) ?? 0) - (load.requested.get(resource) ?? 0);
    // Quantities have a resolution of 1e-9; the tolerance absorbs rounding errors of sums.
    if (amount - free > 1e-9) return `Insufficient ${resource}`;
  }
  return undefined;
}

/** kube-scheduler's scoring strategies of NodeResourcesFit. */
export type ScoringStrategy = "LeastAllocated" | "MostAllocated";

/** kube-scheduler's score over CPU and memory, 0–100. LeastAllocated prefers emptier nodes, MostAllocated fuller ones. */
export function allocationScore(
  { requests }: SchedulerPod,
  { allocatable }: SchedulerNode,
  load: Load,
  strategy: ScoringStrategy = "LeastAllocated",
): number {
  const more = weightOf(requests);
  let sum = 0;
  let counted = 0;
  for (const resource of SCORED) {
    const capacity = allocatable.get(resource) ?? 0;
    if (capacity <= 0) continue;
    const used = load.weighed[resource] + more[resource];
    const wanted = strategy === "MostAllocated" ? used : capacity - used;
    sum += used > capacity ? 0 : Math.floor((wanted * 100) / capacity);
    counted++;
  }
  return counted === 0 ? 0 : Math.floor(sum / counted);
}

const SCORED = ["cpu", "memory"] as const;

/** How many feasible nodes to find before scoring, by kube-scheduler's rule: all of a small cluster, fewer of a large one. */
export function enough(nodes: number, percentage?: number): number {
  if (nodes < 100) return nodes;
  const percent = percentage ?? Math.max(5, 50 - Math.floor(nodes / 125));
  return Math.max(100, Math.floor((nodes * percent) / 100));
}

/** `0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods.` */
export function explain(total: number, reasons: ReadonlyMap<string, number>): string {
  if (total === 0) return "no nodes available to schedule pods";
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return `0/${total} nodes are available: ${parts.join(", ")}.`;
}
