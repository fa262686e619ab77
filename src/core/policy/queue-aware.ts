import { clamp, portions, roundedShare, withinCluster } from "./hp-count.ts";
import type { QueueSettings } from "./settings.ts";

/** As many performance nodes as the running and pending performance-sensitive pods need, but at least the base. */
export function queueAware(nodes: number, performancePods: number, queue: QueueSettings): number {
  const base = roundedShare(nodes, queue.hpBaseFrac);
  const need = portions(performancePods, queue.perfPerHpNode);
  return withinCluster(clamp(Math.max(base, need), queue.hpMin, queue.hpMax), nodes);
}
