import type { Condition } from "../../../core/api/index.ts";
import type { Instant } from "../../../core/units/index.ts";

const TYPE = "Published";
const MAX_MESSAGE_LENGTH = 1000;

/** The Published condition of a NodeTwin: whether the operator could write everything it decided about the node. */
export function conditionOf(
  published: readonly Condition[] | undefined,
  failure: string | undefined,
  now: Instant,
): Condition {
  const status = failure === undefined ? "True" : "False";
  const last = published?.find(({ type }) => type === TYPE);
  return {
    type: TYPE,
    status,
    reason: failure === undefined ? "Written" : "WriteFailed",
    message: failure?.slice(0, MAX_MESSAGE_LENGTH) ?? "all decisions about this node are written",
    lastTransitionTime: last?.status === status ? last.lastTransitionTime : new Date(now).toISOString(),
  };
}

export const isSameCondition = (
  published: readonly Condition[] | undefined,
  { type, status, reason }: Condition,
): boolean => published?.some((one) => one.type === type && one.status === status && one.reason === reason) === true;
