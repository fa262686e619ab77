import type { Container, Pod, ResourceList } from "../api/index.ts";
import { parseQuantity } from "../units/index.ts";
import { itemsOf, specOf } from "./pod-parts.ts";

/** Amount by resource name. */
export type ResourceTotals = ReadonlyMap<string, number>;

export interface FitRequests {
  readonly requests: ResourceTotals;
  readonly unreadable: readonly UnreadableQuantity[];
}

/**
 * The resources that kube-scheduler reserves on a node for the pod. Containers and sidecars run together. Every other init
 * container runs alone beside the sidecars started before it. The larger sum is reserved. A pod-level request replaces that
 * sum, and overhead is added. `demandOf` computes the separate sum that estimates the pod's power.
 */
export function fitRequests(pod: Pod): FitRequests {
  const spec = specOf(pod);
  const reader = new QuantityReader();
  const together = new Map<string, number>();
  for (const container of itemsOf(spec.containers)) add(together, requestsOf(container, reader));

  const sidecars = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const container of itemsOf(spec.initContainers)) {
    const requests = requestsOf(container, reader);
    if (container.restartPolicy === "Always") {
      add(together, requests);
      add(sidecars, requests);
    } else {
      add(requests, sidecars);
      raise(starting, requests);
    }
  }
  raise(together, starting);

  for (const [resource, amount] of podLevelRequests(spec.resources, together, reader)) together.set(resource, amount);
  add(together, amountsIn(spec.overhead, reader));
  return { requests: together, unreadable: reader.unreadable };
}

/** The API server copies a limit without a request to the request. Objects that bypassed the API server are read the same way. */
function requestsOf({ resources }: Container, reader: QuantityReader): Map<string, number> {
  return new Map([...amountsIn(resources?.limits, reader), ...amountsIn(resources?.requests, reader)]);
}

/** A pod-level limit counts only if no container has a request. This follows the API server's defaulting. */
function podLevelRequests(
  resources: Pod["spec"]["resources"],
  asked: ResourceTotals,
  reader: QuantityReader,
): Map<string, number> {
  const unasked = [...amountsIn(resources?.limits, reader)].filter(([resource]) => !asked.has(resource));
  const all = [...unasked, ...amountsIn(resources?.requests, reader)];
  return new Map(all.filter(([resource]) => isPodLevel(resource)));
}

/** Kubernetes has no pod-level GPU requests. */
const isPodLevel = (resource: string) =>
  resource === "cpu" || resource === "memory" || resource.startsWith("hugepages-");

function amountsIn(list: ResourceList | undefined, reader: QuantityReader): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const resource of Object.keys(list ?? {})) {
    const amount = reader.amount(list, resource);
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

/** A quantity that could not be parsed. It counts as missing and is reported. */
export interface UnreadableQuantity {
  readonly resource: string;
  readonly text: string;
}

/** Parses quantities and collects the unreadable ones, once per resource and text. */
export class QuantityReader {
  #unreadable: Map<string, UnreadableQuantity> | undefined;

  get unreadable(): readonly UnreadableQuantity[] {
    return this.#unreadable === undefined ? allRead : [...this.#unreadable.values()];
  }

  /** Returns undefined for absent, malformed and negative quantities, and records the last two. */
  amount(list: ResourceList | undefined, resource: string): number | undefined {
    if (!list || !Object.hasOwn(list, resource)) return undefined;
    const text = textOf(list[resource]);
    const read = parseQuantity(text);
    if (read.ok && read.value >= 0) return read.value;
    this.#unreadable ??= new Map();
    this.#unreadable.set(`${resource} ${text}`, { resource, text });
    return undefined;
  }
}

/** JSON may contain anything here, including objects that cannot be converted to text. */
const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : value === null ? "null" : typeof value;

const allRead: readonly never[] = [];

/** Quantities are multiples of one billionth, so rounding there gives the exact sum: ten times 100m is exactly one core. */
export function addQuantities(one: number, other: number): number {
  const sum = one + other;
  return Number.isInteger(sum) ? sum : Number(sum.toFixed(9));
}
