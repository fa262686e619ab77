export { ArrivalHistory } from "../fit/index.ts";
export { type ProfileCaps, type ProfileLimits, type PublishedCaps, profileCaps } from "./cap-limits.ts";
export { type CapHardware, type CapIntents, type CapSettings, capIntents, type ModelCaps } from "./caps.ts";
export { lastTransitionTime, performanceHeldUntil } from "./dwell.ts";
export { capLimits, type LimitsOf } from "./eco-caps.ts";
export {
  blockingTaintOf,
  type Eligibility,
  type EligibilitySettings,
  eligibilityOf,
  lastTargetProfile,
} from "./eligibility.ts";
export type { FitDemand } from "./fit-aware.ts";
export { type GuardDecision, type GuardInput, type GuardOptions, guard } from "./guard.ts";
export {
  hasConfirmedCaps,
  hasSameCaps,
  isTwinOf,
  type ObservationSettings,
  type ObservedState,
  observedStateOf,
} from "./observed-state.ts";
export { type Plan, type PlanInput, planProfiles } from "./plan.ts";
export type { NodeFit, PlanNode, PlannedNode } from "./plan-node.ts";
export { type PolicySettings, type PolicyType, policyTypes, type QueueSettings } from "./plan-node.ts";
export type { FitResult } from "./promotions.ts";
export { capsIn, pinFrom, pinnedUntil, targetOf } from "./target.ts";
export {
  type NodeState,
  type PowerState,
  type PublishedState,
  publishedStateOf,
  shownUntilConfirmed,
  type Transition,
  transitions,
} from "./transitions.ts";
