// Start at `planSleep`: which nodes are needed awake, which may sleep and which must wake.

export { planSleep, type SleepDecision, type SleepPlan, type SleepResult, type WaitForWake } from "./plan-sleep.ts";
export {
  DEFAULT_STEP_LIMITS,
  nextSleepMove,
  nextWakeMove,
  type PowerCut,
  restBeforeSleep,
  type Sent,
  type SleepFacts,
  type SleepMove,
  type StepLimits,
  WAKE_ATTEMPTS,
  type WakeFacts,
} from "./power-steps.ts";
export { DEFAULT_ZONE_SHARE, type Need, type SleepMode, type SleepSettings, sleepModes } from "./settings.ts";
export { emptySleepMemory, type SleepMemory, withArrivalsSince, withClockSet, withNewTerm } from "./sleep-memory.ts";
export type { SleepNode } from "./sleep-node.ts";
export { controlPlaneRoleLabels, hasControlPlaneRole, sleepBarrierOf } from "./sleep-node.ts";
