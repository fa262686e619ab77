// Start at `planSleep`: which nodes are needed awake, which may sleep and which must wake.
export { type SleepPermission, sleepBarrierOf } from "./barrier.ts";
export { hasControlPlaneRole } from "./control-plane-role.ts";
export {
  planSleep,
  type SleepDecision,
  type SleepInput,
  type SleepPlan,
  type SleepVerdict,
  type WaitForWake,
} from "./plan-sleep.ts";
export type { Need } from "./reasons.ts";
export { type SleepMode, type SleepSettings, sleepLimits, sleepModes } from "./settings.ts";
export { SleepMemory } from "./sleep-memory.ts";
export type { SleepNode } from "./sleep-node.ts";
