// Watches a cluster from outside and judges what Joulie's programs did: caps, placements, sleep and energy.
export type { ClusterCheck } from "./checks.ts";
export { ClusterObserver, type ClusterObserverOptions, type PodCounts, type SleepFigures } from "./cluster-observer.ts";
export type { DrainCounts } from "./placement-audit.ts";
export { RecordingExtender } from "./recording-extender.ts";
export { SleepBindings } from "./sleep-bindings.ts";
