import type { ResourceTotals } from "../../../core/demand/index.ts";
import { kubeResources, nonZeroRequests } from "../../../core/scoring/index.ts";

/** The resource requests on a node: sums over its pods. */
export interface Load {
  readonly requested: Map<string, number>;
  /** For scoring only: as in kube-scheduler, pods without requests count with a default. */
  readonly assumed: { milliCpu: number; memory: number };
  pods: number;
}

interface Placed {
  readonly node: string;
  readonly requests: ResourceTotals;
}

/** Which pods are on which node: from the API, and from decisions not yet written, so that no room is given twice. */
export class Occupancy {
  readonly #placed = new Map<string, Placed>();
  readonly #loads = new Map<string, Load>();

  place(pod: string, node: string, requests: ResourceTotals): void {
    this.remove(pod);
    this.#placed.set(pod, { node, requests });
    this.#shift(node, requests, 1);
  }

  remove(pod: string): boolean {
    const placed = this.#placed.get(pod);
    if (placed === undefined) return false;
    this.#placed.delete(pod);
    this.#shift(placed.node, placed.requests, -1);
    return true;
  }

  nodeOf(pod: string): string | undefined {
    return this.#placed.get(pod)?.node;
  }

  on(node: string): Load {
    return this.#loads.get(node) ?? EMPTY;
  }

  #shift(node: string, requests: ResourceTotals, sign: 1 | -1): void {
    const load = this.#loads.get(node) ?? {
      requested: new Map<string, number>(),
      assumed: { milliCpu: 0, memory: 0 },
      pods: 0,
    };
    this.#loads.set(node, load);
    load.pods += sign;
    for (const [resource, amount] of requests) {
      // Floating-point sums drift; an empty node must have exactly zero.
      const sum = (load.requested.get(resource) ?? 0) + sign * amount;
      load.requested.set(resource, Number.isInteger(sum) ? sum : Number(sum.toFixed(9)));
    }
    const { milliCpu, memory } = nonZeroRequests(kubeResources(requests));
    load.assumed.milliCpu += sign * milliCpu;
    load.assumed.memory += sign * memory;
    if (load.pods === 0) this.#loads.delete(node);
  }
}

const EMPTY: Load = { requested: new Map(), assumed: { milliCpu: 0, memory: 0 }, pods: 0 };
