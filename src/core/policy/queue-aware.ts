import { clamp, portions, roundedShare, withinCluster } from "./hp-count.ts";
import type { QueueSettings } from "./settings.ts";

/** As many performance nodes as the performance-sensitive pods need, running or waiting, and never fewer than the base. */
export function queueAware(nodes: number, performancePods: number, queue: QueueSettings): number {
  const base = roundedShare(nodes, queue.hpBaseFrac);
  const need = portions(performancePods, queue.perfPerHpNode);
  return withinCluster(clamp(Math.max(base, need), queue.hpMin, queue.hpMax), nodes);
}
