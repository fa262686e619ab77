import type { QueueSettings } from "./settings.ts";

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
