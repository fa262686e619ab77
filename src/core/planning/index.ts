// Start at `planCluster`: one planning pass from a cluster snapshot to the desired state of every node.
export { type ClusterSnapshot, performancePodsOn, type SnapshotNode } from "./cluster-snapshot.ts";
export { isMirror, type Leftovers, leftoversOf } from "./leftovers.ts";
export { type NodePlan, statusAt, statusToPublish } from "./node-plan.ts";
export { type ClusterPlan, planCluster } from "./plan-cluster.ts";
export type { FacilityReading, FacilityReadings, NodeUsage, PlanningInput, Telemetry } from "./planning-input.ts";
export { emptyPlanningMemory, type PlanningMemory } from "./planning-memory.ts";
export type { PlanningSettings } from "./settings.ts";
export { isNodeOccupied } from "./sleep.ts";
export type { SleepObservations } from "./sleep-observations.ts";
