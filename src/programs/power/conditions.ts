import type { Condition, PowerEndpointStatus } from "../../core/api/index.ts";
import { type Instant, isoTime } from "../../core/units/index.ts";

/** The conditions of a PowerEndpoint. */
export type PowerConditionType =
  /** Whether the switch answered the last call. */
  | "Reachable"
  /** Whether the switch belongs to the machine of the node, by the UUID in its firmware. Absent if one of them reports none. */
  | "SameMachine"
  /** Whether the switch would take power away. Absent unless it once would not. */
  | "MaySwitchOff"
  /** Whether a wake has succeeded and none has failed since. */
  | "WakeProven"
  /** The result of the last `joulie power test`. */
  | "Tested";

export interface ConditionText {
  readonly type: PowerConditionType;
  readonly holds: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The list with these conditions. The time of each changes only with its status. */
export function withConditions(
  status: PowerEndpointStatus | undefined,
  texts: readonly ConditionText[],
  now: Instant,
): Condition[] {
  const conditions = [...(status?.conditions ?? [])];
  for (const { type, holds, reason, message } of texts) {
    const index = conditions.findIndex((condition) => condition.type === type);
    const before = conditions[index];
    const text = holds ? "True" : "False";
    const lastTransitionTime = before?.status === text ? before.lastTransitionTime : isoTime(now);
    const condition: Condition = { type, status: text, lastTransitionTime, reason, message };
    if (index === -1) conditions.push(condition);
    else conditions[index] = condition;
  }
  return conditions;
}

/** Undefined without the condition. */
export function conditionStatus(
  status: PowerEndpointStatus | undefined,
  wanted: PowerConditionType,
): boolean | undefined {
  const found = status?.conditions?.find(({ type }) => type === wanted);
  return found && found.status === "True";
}
