import type { Pod } from "../api/index.ts";
import { fitRequests, type ResourceTotals } from "./fit-requests.ts";
import { isGpuResource } from "./gpu-boards.ts";
import { type NodeConstraint, nodeConstraintOf } from "./node-constraint.ts";

/** The resources that kube-scheduler reserves for a pod. */
export interface PodRequests {
  readonly amounts: ResourceTotals;
  /** GPUs of all kinds, as many as the pod requests. */
  readonly gpus: number;
}

export function podRequests(amounts: ResourceTotals): PodRequests {
  let gpus = 0;
  for (const [resource, amount] of amounts) if (isGpuResource(resource)) gpus += amount;
  return { amounts, gpus };
}

/** Beyond this many different shapes the table starts empty again. Objects in use stay valid; only the sharing is lost. */
const MAX_SHAPES = 4096;

/** Lets pods with equal requests or constraints share one object: it saves memory, and plans group pods by identity. */
export class PodShapes {
  /** Whether pods of all classes have an arrival: `nodes` and `createdAt`. Otherwise only performance-sensitive ones do. */
  readonly allClasses: boolean;
  readonly #requests = new Map<string, PodRequests>();
  readonly #constraints = new Map<string, NodeConstraint>();

  constructor({ allClasses = false }: { readonly allClasses?: boolean } = {}) {
    this.allClasses = allClasses;
  }

  requestsOf(pod: Pod): PodRequests {
    const requests = fitRequests(pod);
    const key = Array.from(requests, ([resource, amount]) => `${resource}=${amount}`)
      .toSorted()
      .join(" ");
    return shared(this.#requests, key, () => podRequests(requests));
  }

  constraintOf(pod: Pod): NodeConstraint {
    const constraint = nodeConstraintOf(pod);
    return shared(this.#constraints, JSON.stringify(constraint), () => constraint);
  }
}

function shared<Shape>(table: Map<string, Shape>, key: string, create: () => Shape): Shape {
  const known = table.get(key);
  if (known !== undefined) return known;
  if (table.size >= MAX_SHAPES) table.clear();
  const shape = create();
  table.set(key, shape);
  return shape;
}
