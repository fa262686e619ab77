import type { Instant } from "../units/index.ts";
import { assignProfiles } from "./assign.ts";
import { type FitDemand, planFit } from "./fit-aware.ts";
import { inDensityOrder, type PlanNode, type PlannedNode } from "./plan-node.ts";
import type { FitResult } from "./promotions.ts";
import { queueAware } from "./queue-aware.ts";
import { ruleSwap, swapPhase } from "./rule-swap.ts";
import type { PolicySettings, PolicyType } from "./settings.ts";
import { staticPartition } from "./static-partition.ts";

export interface Plan {
  /** The number of performance nodes that the policy wants. Pins may raise or lower it, held nodes may raise it. */
  readonly hpCount: number;
  /** In density order, each name once. */
  readonly nodes: readonly PlannedNode[];
  /** What fit_aware_v1 found for pending performance pods. */
  readonly fit?: FitResult | undefined;
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
