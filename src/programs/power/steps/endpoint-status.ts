import type { Condition, NodePowerState, PowerEndpointStatus, PowerOutcome } from "../../../core/api/index.ts";
import { type Instant, instant, isoTime } from "../../../core/units/index.ts";

/**
 * Where a node is in the cycle of sleep and wake. It follows from the status of the PowerEndpoint alone, so that a restarted
 * program continues where the last one stopped. `tainted` covers a PowerEndpoint that lost its status: a node with the taint
 * counts as off until it has proven otherwise.
 */
export function phaseOf(status: PowerEndpointStatus | undefined, tainted: boolean): NodePowerState {
  const { operation, lastSleep, lastWake } = status ?? {};
  if (operation !== undefined) return operation.type === "sleep" ? "stopping" : "waking";
  const slept = lastSleep?.result === "succeeded" ? Date.parse(lastSleep.at) : -Infinity;
  const woke = lastWake === undefined ? -Infinity : Date.parse(lastWake.at);
  if (slept > woke) return "off";
  if (lastWake?.result === "failed") return "failed";
  return tainted ? "off" : "on";
}

/** When a sleep or wake ended: after the one before it, even if the clock was set back, because the phase follows from the order. */
export const endAfter = (before: PowerOutcome | undefined, now: Instant): string =>
  isoTime(instant(Math.max(now, (Date.parse(before?.at ?? "") || 0) + 1)));

export type PowerConditionType =
  /** Whether the switch answered the last call. */
  | "Reachable"
  /** Whether the switch belongs to the machine of the node, by the UUID in its firmware. Absent if one of them reports none. */
  | "SameMachine"
  /** Whether the switch would take power away. Absent unless it once would not. */
  | "MaySwitchOff"
  /** Whether a wake has succeeded and none has failed since. */
  | "WakeProven"
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

export function conditionStatus(
  status: PowerEndpointStatus | undefined,
  wanted: PowerConditionType,
): boolean | undefined {
  const found = status?.conditions?.find(({ type }) => type === wanted);
  return found && found.status === "True";
}
