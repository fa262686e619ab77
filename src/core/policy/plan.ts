import type { Instant } from "../units/index.ts";
import { type FitDemand, planFit } from "./fit-aware.ts";
import { queueAware, ruleSwap, staticPartition, swapPhase } from "./hp-count.ts";
import {
  asHeld,
  asPinned,
  inDensityOrder,
  type PlanNode,
  type PlannedNode,
  type PolicySettings,
  type PolicyType,
} from "./plan-node.ts";
import type { FitResult } from "./promotions.ts";

export interface Plan {
  /** The number of performance nodes that the policy wants. Pins may raise or lower it, held nodes may raise it. */
  readonly hpCount: number;
  /** In density order, each name once. */
  readonly nodes: readonly PlannedNode[];
  /** What fit_aware_v1 found for pending performance pods. */
  readonly fit?: FitResult;
}

/** The input of a plan besides the nodes. A plan has no memory: the same input gives the same plan. */
export interface PlanInput {
  /** Active performance-sensitive pods in the cluster, including pending ones. */
  readonly performancePods: number;
  readonly now: Instant;
  /** For fit_aware_v1. Without it no pod is known. */
  readonly fit?: FitDemand | undefined;
}

export const planProfiles = (nodes: readonly PlanNode[], settings: PolicySettings, input: PlanInput): Plan =>
  policies[settings.type](inDensityOrder(nodes), settings, input);

type Policy = (ordered: readonly PlanNode[], settings: PolicySettings, input: PlanInput) => Plan;

/** These policies decide how many nodes; density and family decide which ones. */
const byCount =
  (count: (nodes: number, settings: PolicySettings, input: PlanInput) => number): Policy =>
  (ordered, settings, input) => {
    const hpCount = count(ordered.length, settings, input);
    return { hpCount, nodes: assignProfiles(ordered, hpCount) };
  };

const policies: Readonly<Record<PolicyType, Policy>> = {
  static_partition: byCount((nodes, { staticHpFrac }) => staticPartition(nodes, staticHpFrac)),
  queue_aware_v1: byCount((nodes, { queue }, { performancePods }) => queueAware(nodes, performancePods, queue)),
  fit_aware_v1: (ordered, { fitReserve }, { now, fit }) => planFit(ordered, fit ?? { pods: [] }, fitReserve, now),
  rule_swap_v1: (ordered, { reconcileInterval }, { now }) => {
    const nodes = ruleSwap(ordered, swapPhase(now, reconcileInterval));
    return { hpCount: nodes.filter(({ profile }) => profile === "performance").length, nodes };
  },
};

/**
 * Chooses the nodes for the `hpCount` performance places: first nodes pinned to performance, then one node of each family
 * without one, densest family first, then the densest remaining nodes. Families never add a place.
 *
 * A pin is obeyed even beyond `hpCount`, because a user requested it. So is a node that was promoted a short time ago: it
 * takes no place from another node, so that promotions never wait. `ordered` is in density order.
 */
function assignProfiles(ordered: readonly PlanNode[], hpCount: number): PlannedNode[] {
  const pinned = ordered.filter(({ pin }) => pin === "performance");
  const free = ordered.filter(({ pin }) => pin === undefined);
  const places = Math.max(0, hpCount - pinned.length);

  const kept = new Set(pinned.map(({ family }) => family));
  const reserved = new Set<string>();
  for (const { name, family } of free) {
    if (reserved.size >= places) break;
    if (kept.has(family)) continue;
    kept.add(family);
    reserved.add(name);
  }

  let open = places - reserved.size;
  return ordered.map((node, index): PlannedNode => {
    const { name, family, pin, heldUntil } = node;
    if (pin !== undefined) return asPinned(name, pin);
    if (reserved.has(name)) return { name, profile: "performance", reason: `densest of family ${family}` };
    if (open-- > 0) {
      return { name, profile: "performance", reason: `density rank ${index + 1} of ${ordered.length}` };
    }
    if (heldUntil !== undefined) return { name, profile: "performance", reason: asHeld(heldUntil) };
    return { name, profile: "eco", reason: afterThePerformanceNodes(hpCount) };
  });
}

function afterThePerformanceNodes(hpCount: number): string {
  if (hpCount === 0) return "the policy asks for no performance node";
  return hpCount === 1 ? "after the performance node" : `after the ${hpCount} performance nodes`;
}
