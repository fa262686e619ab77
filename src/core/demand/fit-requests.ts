import type { Container, Node, Pod, ResourceList } from "../api/index.ts";
import { memoize, parseQuantity } from "../units/index.ts";
import { itemsOf, specOf } from "./pod-parts.ts";

/** Amount by resource name. */
export type ResourceTotals = ReadonlyMap<string, number>;

/**
 * The resources that kube-scheduler reserves on a node for the pod. Containers and sidecars run together. Every other init
 * container runs alone beside the sidecars started before it. The larger sum is reserved. A pod-level request replaces that
 * sum, and overhead is added. `demandOf` computes the separate sum that estimates the pod's power.
 */
export function fitRequests(pod: Pod): ResourceTotals {
  const spec = specOf(pod);
  const together = new Map<string, number>();
  for (const container of itemsOf(spec.containers)) add(together, requestsOf(container));

  const sidecars = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const container of itemsOf(spec.initContainers)) {
    const requests = requestsOf(container);
    if (container.restartPolicy === "Always") {
      add(together, requests);
      add(sidecars, requests);
    } else {
      add(requests, sidecars);
      raise(starting, requests);
    }
  }
  raise(together, starting);

  for (const [resource, amount] of podLevelRequests(spec.resources, together)) together.set(resource, amount);
  add(together, amountsIn(spec.overhead));
  return together;
}

/** The API server copies a limit without a request to the request. Objects that bypassed the API server are read the same way. */
function requestsOf({ resources }: Container): Map<string, number> {
  return new Map([...amountsIn(resources?.limits), ...amountsIn(resources?.requests)]);
}

/** A pod-level limit counts only if no container has a request. This follows the API server's defaulting. */
function podLevelRequests(resources: Pod["spec"]["resources"], asked: ResourceTotals): Map<string, number> {
  const unasked = [...amountsIn(resources?.limits)].filter(([resource]) => !asked.has(resource));
  const all = [...unasked, ...amountsIn(resources?.requests)];
  return new Map(all.filter(([resource]) => isPodLevel(resource)));
}

/** Kubernetes has no pod-level GPU requests. */
const isPodLevel = (resource: string) =>
  resource === "cpu" || resource === "memory" || resource.startsWith("hugepages-");

/** The quantities that can be read; malformed and negative ones count as missing. */
function amountsIn(list: ResourceList | undefined): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const resource of Object.keys(list ?? {})) {
    const amount = amountOf(list, resource);
    if (amount !== undefined) amounts.set(resource, amount);
  }
  return amounts;
}

function add(totals: Map<string, number>, more: ResourceTotals): void {
  for (const [resource, amount] of more) totals.set(resource, addQuantities(totals.get(resource) ?? 0, amount));
}

function raise(totals: Map<string, number>, least: ResourceTotals): void {
  for (const [resource, amount] of least) totals.set(resource, Math.max(totals.get(resource) ?? 0, amount));
}

/** Memoized, because parsing the quantities of every node takes longer than the rest of its plan. */
const amountsOfNode = memoize((list: ResourceList) => amountsIn(list));
const noResources: ResourceList = {};

export const allocatableOf = ({ status }: Pick<Node, "status">): ResourceTotals =>
  amountsOfNode(status?.allocatable ?? status?.capacity ?? noResources);

/** Undefined for an absent, malformed or negative quantity. */
export function amountOf(list: ResourceList | undefined, resource: string): number | undefined {
  if (!list || !Object.hasOwn(list, resource)) return undefined;
  const read = parseQuantity(textOf(list[resource]));
  return read.ok && read.value >= 0 ? read.value : undefined;
}

/** JSON may contain anything here, including objects that cannot be converted to text. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return value === null ? "null" : typeof value;
}

/** Quantities are multiples of one billionth, so rounding there gives the exact sum: ten times 100m is exactly one core. */
export function addQuantities(one: number, other: number): number {
  const sum = one + other;
  return Number.isInteger(sum) ? sum : Number(sum.toFixed(9));
}
