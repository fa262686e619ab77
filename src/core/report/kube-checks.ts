import type { Labels, Node, NodeTaint, Pod } from "../api/index.ts";
import {
  allocatableOf,
  fitRequests,
  nodeConstraintOf,
  type ResourceTotals,
  selectsNode,
  untoleratedTaint,
} from "../demand/index.ts";
import { counted } from "./problem.ts";

/** The resources of a node, and what its pods have reserved. */
export interface NodeReservations {
  readonly allocatable: ResourceTotals;
  readonly requested: ResourceTotals;
  readonly pods: number;
}

export function reservationsOf(node: Node, pods: Iterable<Pod>): NodeReservations {
  const allocatable = allocatableOf(node);
  const requested = new Map<string, number>();
  let count = 0;
  for (const pod of pods) {
    count++;
    for (const [resource, amount] of fitRequests(pod)) requested.set(resource, (requested.get(resource) ?? 0) + amount);
  }
  return { allocatable, requested, pods: count };
}

/** Quantities are multiples of one billionth. */
const ROUNDING = 1e-9;
const UNSCHEDULABLE: NodeTaint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/**
 * Why kube-scheduler's own filters keep the pod off the node, as far as Joulie knows them: cordon, node selector, required
 * node affinity, taints, resources and the number of pods. Pod affinity, topology spread, volumes, host ports and device claims
 * are not checked.
 */
export function kubeBlockers(pod: Pod, node: Node, reservations: NodeReservations): readonly string[] {
  const found: string[] = [];
  const { name } = node.metadata;
  const labels: Labels = node.metadata.labels ?? {};
  const { selector, terms, tolerations } = nodeConstraintOf(pod);
  const isTolerated = (taint: NodeTaint) => untoleratedTaint(tolerations, [taint]) === undefined;
  if (node.spec?.unschedulable === true && !isTolerated(UNSCHEDULABLE)) found.push("the node is cordoned");
  for (const [key, value] of Object.entries(selector ?? {}))
    if (labels[key] !== value) found.push(`the pod selects ${key}=${value}, the node has ${labelText(labels[key])}`);
  if (terms !== undefined && !selectsNode({ terms }, { name, labels }))
    found.push("the pod's required node affinity does not match the node's labels");
  for (const taint of node.spec?.taints ?? [])
    if (taint.key !== UNSCHEDULABLE.key && !isTolerated(taint))
      found.push(
        `the pod does not tolerate the taint ${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`,
      );
  const { allocatable, requested, pods } = reservations;
  const most = allocatable.get("pods");
  if (most !== undefined && pods + 1 > most) found.push(`the node runs ${pods} pods, the most it takes`);
  for (const [resource, amount] of fitRequests(pod)) {
    if (!(amount > 0)) continue;
    const free = (allocatable.get(resource) ?? 0) - (requested.get(resource) ?? 0);
    if (amount > free + ROUNDING)
      found.push(`the pod requests ${amountText(resource, amount)}, ${freeText(resource, Math.max(0, free))}`);
  }
  return found;
}

const labelText = (value: string | undefined): string => (value === undefined ? "no such label" : `the value ${value}`);

const isInBytes = (resource: string): boolean =>
  resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");

function amountText(resource: string, amount: number): string {
  const number = (value: number, digits: number) => Number(value.toFixed(digits));
  if (isInBytes(resource)) return `${number(amount / 2 ** 30, 2)} GiB of ${resource}`;
  const count = number(amount, 3);
  return resource === "cpu" ? counted(count, "CPU") : `${count} ${resource}`;
}

/** `0 CPUs are free`, `1 CPU is free`, `0.5 GiB of memory is free`. */
function freeText(resource: string, free: number): string {
  const text = amountText(resource, free);
  return `${text} ${isInBytes(resource) || text.startsWith("1 ") ? "is" : "are"} free`;
}
