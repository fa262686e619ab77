import type { Instant, Milliseconds } from "../units/index.ts";
import { asPinned, type PlanNode, type PlannedNode, type QueueSettings } from "./plan-node.ts";

/** Limits the number of performance nodes to an integer between 0 and the number of nodes. */
export const withinCluster = (count: number, nodes: number): number => orZero(Math.floor(clamp(count, 0, nodes)));

/** If the bounds contradict each other, the upper one wins. */
const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

/** Tolerance for floating-point errors: 0.29 × 50 is 14.499999999999998 but should round like 14.5. */
const slack = 4 * Number.EPSILON;

/** Rounds halves up. */
export const roundedShare = (nodes: number, fraction: number): number =>
  orZero(Math.floor(nodes * fraction * (1 + slack) + 0.5));

/** The number of portions needed for an amount; 0 if the division is impossible. */
export const portions = (amount: number, portion: number): number =>
  orZero(Math.ceil((amount / portion) * (1 - slack)));

const orZero = (value: number): number => (Number.isNaN(value) ? 0 : value);

/** A fixed split: the same nodes always give the same plan. */
export const staticPartition = (nodes: number, hpFrac: number): number =>
  withinCluster(roundedShare(nodes, hpFrac), nodes);

/** As many performance nodes as the running and pending performance-sensitive pods need, but at least the base. */
export function queueAware(nodes: number, performancePods: number, queue: QueueSettings): number {
  const base = roundedShare(nodes, queue.hpBaseFrac);
  const need = portions(performancePods, queue.perfPerHpNode);
  return withinCluster(clamp(Math.max(base, need), queue.hpMin, queue.hpMax), nodes);
}

/** The phase alternates every interval. An invalid interval stays in phase 0. */
export function swapPhase(now: Instant, interval: Milliseconds): 0 | 1 {
  const passed = Math.floor(now / interval);
  return Math.abs(passed % 2) === 1 ? 1 : 0;
}

/** In phase 0 the densest unpinned node is eco, in phase 1 the next one. Families and dwell times are ignored. */
export function ruleSwap(ordered: readonly PlanNode[], phase: 0 | 1): PlannedNode[] {
  let free = 0;
  return ordered.map(({ name, pin }) => {
    if (pin !== undefined) return asPinned(name, pin);
    const isEco = free++ === phase;
    return isEco
      ? { name, profile: "eco", reason: `its turn in phase ${phase} of rule_swap_v1` }
      : { name, profile: "performance", reason: `not its turn in phase ${phase} of rule_swap_v1` };
  });
}
