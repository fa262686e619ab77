export { ArrivalHistory } from "../fit/index.ts";
export { type ProfileCaps, type ProfileLimits, profileCaps } from "./cap-limits.ts";
export { type CapSettings, capIntents } from "./caps.ts";
export { lastTransitionTime, performanceHeldUntil } from "./dwell.ts";
export { capLimits, type LimitsOf } from "./eco-caps.ts";
export {
  blockingTaintOf,
  type Eligibility,
  type EligibilitySettings,
  eligibilityOf,
  lastTargetProfile,
} from "./eligibility.ts";
export { type GuardDecision, type GuardOptions, guard } from "./guard.ts";
export { hasConfirmedCaps, hasSameCaps, isTwinOf, type ObservedState, observedStateOf } from "./observed-state.ts";
export { planProfiles } from "./plan.ts";
export type { NodeFit, PlanNode, PlannedNode } from "./plan-node.ts";
export { type PolicySettings, type PolicyType, policyTypes } from "./plan-node.ts";
export type { FitResult } from "./promotions.ts";
export { capsIn, pinFrom, pinnedUntil, targetOf } from "./target.ts";
export {
  type NodeState,
  type ProfileState,
  publishedStateOf,
  shownUntilConfirmed,
  type Transition,
} from "./transitions.ts";
