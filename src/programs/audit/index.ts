// Watches a cluster from outside and judges what Joulie's programs did: caps, sleep and waits.
export type { ClusterCheck } from "./checks.ts";
export { ClusterObserver, type PodCounts, type SleepFigures } from "./cluster-observer.ts";
export type { DrainCounts } from "./state-history.ts";
