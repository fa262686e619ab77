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

/** A table with this many shapes is emptied. Shapes in use stay valid; later pods only no longer share them. */
const MAX_SHAPES = 4096;

/** Gives pods with equal requests, or equal constraints, the same object. This saves memory, and plans group pods by it. */
export class PodShapes {
  /**
   * Whether summaries of pods of every class get `nodes` and `createdAt`. Sleep needs them. Without sleep only summaries of
   * performance-sensitive pods get them.
   */
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
  const existing = table.get(key);
  if (existing !== undefined) return existing;
  if (table.size >= MAX_SHAPES) table.clear();
  const shape = create();
  table.set(key, shape);
  return shape;
}
