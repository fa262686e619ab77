import { roundedShare, withinCluster } from "./hp-count.ts";

/** A fixed split: the same nodes always give the same plan. */
export const staticPartition = (nodes: number, hpFrac: number): number =>
  withinCluster(roundedShare(nodes, hpFrac), nodes);
