export {
  type DemandView,
  demandViewOf,
  noQueues,
  type PodPool,
  type QueuedPools,
  queuedPools,
} from "./demand-view.ts";
export { allocatableOf, fitRequests, type ResourceTotals } from "./fit-requests.ts";
export { type GpuNode, gpuBoardsOn } from "./gpu-boards.ts";
export * from "./marginal.ts";
export * from "./marginal-on.ts";
export {
  admitsNode,
  type NodeConstraint,
  namedNodesOf,
  nodeConstraintOf,
  selectsNode,
  untoleratedTaint,
} from "./node-constraint.ts";
export {
  occupiedNodes,
  type PodPromise,
  podPromiseOf,
  type SelectedNode,
  selectedNodeOf,
} from "./occupied-nodes.ts";
export * from "./pod-annotations.ts";
export { demandOf, type PodDemand } from "./pod-demand.ts";
export { isControlPlanePod, isFinished, isLostWithNode, isOfNode, wouldBeLost } from "./pod-loss.ts";
export { type PodRequests, PodShapes, podRequests } from "./pod-shapes.ts";
export { isPlacedBy, type PodReference, type PodSummary, podSummaryOf, QUEUED_AFTER } from "./pod-summary.ts";
