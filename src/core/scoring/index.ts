export { type Batch, batchOf } from "./batch.ts";
export { type DebugRow, debugReport } from "./debug.ts";
export * from "./energy/index.ts";
export {
  ASLEEP,
  askingPodOf,
  filterNode,
  KEPT_FREE,
  rejectionCode,
  rejections,
  reservedFor,
  reservedText,
} from "./filter.ts";
export { defaultScoringSettings, HEADROOM_WEIGHT, type ScoringSettings } from "./formula.ts";
export { ScoringKernel } from "./kernel.ts";
export {
  allocationScore,
  balancedAllocationScore,
  type KubeResources,
  kubeResources,
  kubeScore,
  nodesToScore,
  nonZeroRequests,
  type ScoringStrategy,
} from "./kube-scores.ts";
export { type Breakdown, type CandidateNode, type ScoredBreakdown, type ScoredPod, scoreNode } from "./oracle.ts";
export { type TwinState, twinStateOf } from "./twin-state.ts";
