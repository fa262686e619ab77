import type { PodDemand } from "../../../core/demand/index.ts";
import type { ScoringKernel } from "../../../core/scoring/index.ts";
import { bestNode, fits, type Placement } from "../placement/job-kinds.ts";
import { demandOf } from "./energy-placement.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** kube-scheduler scales extender scores of 0–10 to 0–100. */
const EXTENDER_WEIGHT = 10;

/**
 * kube-scheduler with the extender: the extender filters by class and scores by the published twins, and kube-scheduler adds
 * LeastAllocated. The first node wins a tie; kube-scheduler picks one at random. `slots` maps nodes to the kernel's slots.
 */
export function jouliePlacement(site: SimulatedCluster, kernel: ScoringKernel, slots: Int32Array): Placement {
  const points = new Int16Array(slots.length);
  return (kind) => {
    const workloadClass = kind.performance ? "performance" : "standard";
    const demand: PodDemand = demandOf(kind);
    kernel.scoreMany(slots, demand, workloadClass, points);
    return bestNode(site.count, (node) => {
      const isRejected = kernel.filter(slots[node] as number, workloadClass) !== 0;
      if (isRejected || !fits(site, node, kind)) return -Infinity;
      const left = (site.freeCores[node] as number) - kind.cores;
      const leastAllocated = Math.floor((left * 100) / site.shape(node).cores);
      return EXTENDER_WEIGHT * (points[node] as number) + leastAllocated;
    });
  };
}
