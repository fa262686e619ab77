import type { DemandView, MarginalWatts } from "../demand/index.ts";
import type { NodeRoom } from "../fit/index.ts";
import type { NodeFit } from "../policy/index.ts";
import type { Instant } from "../units/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";
import type { AssignedProfiles, ManagedNode, NodePlan, NodeShape, NodeTarget, PlanReadings } from "./node-plan.ts";
import type { PlanningSettings } from "./settings.ts";

/** The results for one node in the last pass, each with the inputs that the result itself does not contain. */
export interface NodeResults {
  managed?: ManagedNode;
  fit?: { readonly managed: ManagedNode; readonly isPerformance: boolean; readonly fit: NodeFit };
  room?: { readonly node: SnapshotNode; readonly sleeps: boolean; readonly room: NodeRoom };
  target?: NodeTarget;
  podWatts?: { readonly podsVersion: number; readonly shape: NodeShape; readonly watts: MarginalWatts };
  plan?: { readonly target: NodeTarget; readonly readings: PlanReadings; readonly plan: NodePlan };
}

/**
 * The results of each planning stage in the last pass. It only stores them: each stage compares its inputs with those of the
 * last result. The comparisons name every field, because arrays of inputs made an unchanged pass twice as slow.
 */
export class PlanCache {
  demand: { readonly podsVersion: number; readonly view: DemandView } | undefined;
  profiles:
    | {
        readonly managed: readonly ManagedNode[];
        readonly heldUntil: readonly (Instant | undefined)[];
        readonly asleep: readonly boolean[];
        readonly performancePods: number;
        readonly unconfirmed: ReadonlySet<string>;
        readonly assigned: AssignedProfiles;
      }
    | undefined;
  #nodes = new Map<string, NodeResults>();
  #settings: PlanningSettings | undefined;

  /** Every result depends on the settings: other settings empty the cache. */
  use(settings: PlanningSettings): void {
    if (this.#settings === settings) return;
    this.#settings = settings;
    this.demand = undefined;
    this.profiles = undefined;
    this.#nodes.clear();
  }

  find(node: string): NodeResults | undefined {
    return this.#nodes.get(node);
  }

  of(node: string): NodeResults {
    let results = this.#nodes.get(node);
    if (results === undefined) this.#nodes.set(node, (results = {}));
    return results;
  }

  /** Bounds the size: drops the results of other nodes. */
  keepOnly(nodes: readonly ManagedNode[]): void {
    // Every managed node has results, so equal sizes mean the same nodes.
    if (this.#nodes.size === nodes.length) return;
    const names = new Set(nodes.map(({ name }) => name));
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name);
  }
}
