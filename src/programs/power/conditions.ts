import type { Condition, PowerEndpointStatus } from "../../core/api/index.ts";
import { type Instant, isoTime } from "../../core/units/index.ts";

/** The conditions of a PowerEndpoint. */
type PowerConditionType =
  /** Whether the switch answered the last call. */
  | "Reachable"
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

/** The list with this condition. Its time changes only with its status. */
export function withCondition(
  status: PowerEndpointStatus | undefined,
  { type, holds, reason, message }: ConditionText,
  now: Instant,
): readonly Condition[] {
  const present = status?.conditions ?? [];
  const before = present.find((condition) => condition.type === type);
  const text = holds ? "True" : "False";
  const lastTransitionTime = before?.status === text ? before.lastTransitionTime : isoTime(now);
  const condition: Condition = { type, status: text, lastTransitionTime, reason, message };
  return [...present.filter((other) => other.type !== type), condition];
}
