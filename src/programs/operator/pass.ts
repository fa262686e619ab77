import type { DemandView } from "../../core/demand/index.ts";
import { performanceHeldUntil } from "../../core/policy/index.ts";
import type { Instant } from "../../core/units/index.ts";
import { type Leftovers, leftoversIn } from "./cleanup.ts";
import type { ManagedNode } from "./managed-node.ts";
import type { NodePlan } from "./node-plan.ts";
import type { PassInput } from "./pass-input.ts";
import { isTargetOf, kept, type Target, targetFor } from "./target.ts";
import { withTwins } from "./twins.ts";

export interface ClusterPlan {
  readonly at: Instant;
  readonly hpCount: number;
  readonly demand: DemandView;
  /** Whether pods could be read: without them no node goes down. */
  readonly current: boolean;
  readonly nodes: ReadonlyMap<string, NodePlan>;
  /** What is to go, by node: of nodes that are gone or no longer managed. */
  readonly leftovers: ReadonlyMap<string, Leftovers>;
}

/** One pass: from the state of the cluster to what is wanted of every managed node. Decisions come from the state alone. */
export function plan(input: PassInput): ClusterPlan {
  const { view, settings, memory, now } = input;
  const { current } = view;
  const demand = memory.demandOf(view);
  const managed = managedNodes(input);
  memory.keepOnly(managed);
  const held = managed.map(({ name }) => performanceHeldUntil(view.twin(name), settings.minDwell, now));
  const { hpCount, byName } = memory.plannedFor(managed, held, demand.performancePods, settings, now);
  const targets: Target[] = [];
  for (const node of managed) {
    const { name } = node;
    const twin = view.twin(name);
    const planned = byName.get(name) ?? kept(node, twin);
    if (planned === undefined) continue;
    const performancePods = current ? (demand.performancePodsByNode.get(name) ?? 0) : undefined;
    const own = { managed: node, planned, twin, performancePods };
    const known = memory.of(name);
    if (known.target === undefined || !isTargetOf(known.target, own)) known.target = targetFor(own, settings);
    targets.push(known.target);
  }
  const nodes = withTwins(targets, input);
  return { at: now, hpCount, demand, current, nodes, leftovers: leftoversIn(view, settings, memory) };
}

function managedNodes({ view, settings, memory }: PassInput): ManagedNode[] {
  const managed: ManagedNode[] = [];
  for (const node of view.nodes()) {
    const own = memory.managed(node, view, settings);
    if (own !== undefined) managed.push(own);
  }
  return managed;
}
