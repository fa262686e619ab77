export { type PowerConstraint, powerConstraintOf } from "./constraint.ts";
export { type DemandView, demandViewOf } from "./demand-view.ts";
export { type FitRequests, fitRequests, type ResourceTotals } from "./fit-requests.ts";
export { type GpuNode, gpuBoardsOn } from "./gpu-boards.ts";
export * from "./marginal.ts";
export { countsOnNode, isActive, isPerformanceSensitive } from "./performance-sensitive.ts";
export { demandOf, type PodDemand } from "./pod-demand.ts";
export type { UnreadableQuantity } from "./quantities.ts";
export * from "./workload-class.ts";
