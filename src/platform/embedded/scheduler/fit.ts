import { selectsNode, untoleratedTaint } from "../../../core/demand/index.ts";
import type { SchedulerNode, SchedulerPod } from "./cluster-view.ts";
import type { Load } from "./occupancy.ts";

/** Why a node does not fit a pod, in kube-scheduler's wording; undefined when it fits. */
export function unfitReason(pod: SchedulerPod, node: SchedulerNode, load: Load): string | undefined {
  const { waiting } = pod;
  if (waiting === undefined) return "pod is not waiting";
  const { tolerations } = waiting.constraint;
  if (node.unschedulable && untoleratedTaint(tolerations, [UNSCHEDULABLE]) !== undefined)
    return "node(s) were unschedulable";
  const taint = untoleratedTaint(tolerations, node.taints);
  if (taint !== undefined) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  if (!selectsNode(waiting.constraint, node)) return "node(s) didn't match Pod's node affinity/selector";
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

/** `0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods.` */
export function explain(total: number, reasons: ReadonlyMap<string, number>): string {
  if (total === 0) return "no nodes available to schedule pods";
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return `0/${total} nodes are available: ${parts.join(", ")}.`;
}
