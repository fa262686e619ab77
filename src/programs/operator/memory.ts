import { boundWattsOn, type DemandView, demandViewOf, type MarginalWatts } from "../../core/demand/index.ts";
import { eligibilityOf, type PlanNode, type PlannedNode, pinFrom, planProfiles } from "../../core/policy/index.ts";
import { PowerTrend } from "../../core/twin/index.ts";
import type { Instant } from "../../core/units/index.ts";
import type { ClusterNode, ClusterView } from "./cluster-view.ts";
import { type ManagedNode, type NodeShape, shapeOf } from "./managed-node.ts";
import type { Twinned } from "./node-plan.ts";
import type { OperatorSettings } from "./settings.ts";
import type { Target } from "./target.ts";

/** The policy's word on every eligible node. */
interface Planned {
  readonly hpCount: number;
  readonly byName: ReadonlyMap<string, PlannedNode>;
}

/** The share of its request's power a pod is expected to draw: what the extender reckons with unless told otherwise. */
const COEFFICIENTS = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };

/** What is kept of one node. */
export class NodeMemory {
  readonly trend = new PowerTrend();
  managed: ManagedNode | undefined;
  target: Target | undefined;
  twinned: Twinned | undefined;
  #podWatts: { readonly version: number; readonly shape: NodeShape; readonly sum: MarginalWatts } | undefined;

  /** What the pods on the node add, worked out anew when one of them changed. */
  podWatts({ name, node, shape }: ManagedNode, view: Pick<ClusterView, "podsOn" | "podsVersion">): MarginalWatts {
    const version = view.podsVersion(name);
    if (this.#podWatts?.version !== version || this.#podWatts.shape !== shape) {
      const on = { hardware: shape.view, labels: node.metadata.labels };
      this.#podWatts = { version, shape, sum: boundWattsOn(view.podsOn(name), on, COEFFICIENTS) };
    }
    return this.#podWatts.sum;
  }
}

/**
 * What is worth keeping from pass to pass, under one and the same settings. Nothing is decided by it: each piece is what a pass
 * would work out again from inputs that are the very same objects as before. Without it a pass is slower, and trends start anew.
 */
export class Memory {
  readonly #nodes = new Map<string, NodeMemory>();
  #demand: { readonly version: number; readonly view: DemandView } | undefined;
  #planned:
    | {
        readonly nodes: readonly ManagedNode[];
        /** Until when each of them is held at performance. */
        readonly held: readonly (Instant | undefined)[];
        readonly performancePods: number;
        readonly planned: Planned;
      }
    | undefined;

  /** Whether the node was managed in the last pass. */
  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  of(name: string): NodeMemory {
    let known = this.#nodes.get(name);
    if (known === undefined) this.#nodes.set(name, (known = new NodeMemory()));
    return known;
  }

  demandOf(view: Pick<ClusterView, "pods" | "allPodsVersion">): DemandView {
    const version = view.allPodsVersion;
    if (this.#demand?.version !== version) this.#demand = { version, view: demandViewOf(view.pods()) };
    return this.#demand.view;
  }

  /** Undefined for a node that is not ours. */
  managed(node: ClusterNode, view: ClusterView, settings: OperatorSettings): ManagedNode | undefined {
    const { name, uid } = node.metadata;
    const [hardware, profile] = [view.hardware(name), view.profile(name)];
    const known = this.#nodes.get(name)?.managed;
    // Another machine under the same name.
    if (known !== undefined && known.node.metadata.uid !== uid) this.#nodes.delete(name);
    if (known?.node === node && known.hardware === hardware && known.profile === profile) return known;
    const eligibility = eligibilityOf(node, settings.eligibility);
    if (eligibility === "unmanaged") return undefined;
    const shape = known?.node === node && known.hardware === hardware ? known.shape : shapeOf(node, hardware, settings);
    const managed = { name, node, hardware, profile, eligibility, shape, pin: pinFrom(profile) };
    this.of(name).managed = managed;
    return managed;
  }

  /** What the policy makes of these nodes. One that goes by the time of day is asked each time. */
  plannedFor(
    nodes: readonly ManagedNode[],
    held: readonly (Instant | undefined)[],
    performancePods: number,
    { policy }: OperatorSettings,
    now: Instant,
  ): Planned {
    const known = this.#planned;
    const isSame =
      known !== undefined &&
      policy.type !== "rule_swap_v1" &&
      known.performancePods === performancePods &&
      known.nodes.length === nodes.length &&
      known.nodes.every((node, index) => node === nodes[index] && known.held[index] === held[index]);
    if (isSame) return known.planned;
    const eligible = nodes.flatMap(({ name, eligibility, shape, pin }, index): PlanNode[] =>
      eligibility === "eligible"
        ? [{ name, density: shape.density, family: shape.view.family, pin: pin?.profile, heldUntil: held[index] }]
        : [],
    );
    const plan = planProfiles(eligible, policy, { performancePods, now });
    const planned = { hpCount: plan.hpCount, byName: new Map(plan.nodes.map((node) => [node.name, node])) };
    this.#planned = { nodes, held, performancePods, planned };
    return planned;
  }

  /** Everyone else is forgotten. */
  keepOnly(nodes: readonly ManagedNode[]): void {
    // Each of them is known, so as many as known are all.
    if (this.#nodes.size === nodes.length) return;
    const names = new Set(nodes.map(({ name }) => name));
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name);
  }
}
