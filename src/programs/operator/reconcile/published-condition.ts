import type { Condition } from "../../../core/api/index.ts";
import type { Instant } from "../../../core/units/index.ts";

const TYPE = "Published";
const LONGEST_MESSAGE = 1000;

/** Whether what was decided about the node could be written, for whoever looks at its NodeTwin. */
export function conditionOf(
  there: readonly Condition[] | undefined,
  failure: string | undefined,
  now: Instant,
): Condition {
  const status = failure === undefined ? "True" : "False";
  const before = there?.find(({ type }) => type === TYPE);
  return {
    type: TYPE,
    status,
    reason: failure === undefined ? "Written" : "WriteFailed",
    message: failure?.slice(0, LONGEST_MESSAGE) ?? "everything decided about this node is written",
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : new Date(now).toISOString(),
  };
}

export const isSameCondition = (
  there: readonly Condition[] | undefined,
  { type, status, reason }: Condition,
): boolean => there?.some((one) => one.type === type && one.status === status && one.reason === reason) === true;
