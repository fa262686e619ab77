import type { NodeTwin, NodeTwinStatus, SchedulableClass } from "../api/index.ts";
import { type Instant, instant, type Milliseconds } from "../units/index.ts";

/**
 * The time until which a promoted node keeps the performance profile, whatever the policy decides; undefined if it need not.
 *
 * Only published state counts, so that a restart changes nothing: a node counts as promoted if its twin has performance in
 * spec and class and a transition time. A transition time further ahead than `dwell` means that the clock was set back. It is
 * ignored, because it would hold the node for as long as the clock was wrong.
 */
export function performanceHeldUntil(
  twin: Pick<NodeTwin, "spec" | "status"> | undefined,
  dwell: Milliseconds,
  now: Instant,
): Instant | undefined {
  const { schedulableClass, lastTransitionTime } = twin?.status ?? {};
  if (lastTransitionTime === undefined || schedulableClass !== "performance") return undefined;
  if (twin?.spec.profile !== "performance") return undefined;
  const since = Date.parse(lastTransitionTime);
  return Math.abs(now - since) < dwell ? instant(since + dwell) : undefined;
}

/** The lastTransitionTime for the class `next`. The first class of a node is no transition and does not hold the node. */
export function lastTransitionTime(
  there: NodeTwinStatus | undefined,
  next: SchedulableClass | undefined,
  now: Instant,
): string | undefined {
  const before = there?.schedulableClass;
  return before === undefined || before === next ? there?.lastTransitionTime : new Date(now).toISOString();
}
