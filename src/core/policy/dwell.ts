import type { NodeTwin, NodeTwinStatus, SchedulableClass } from "../api/index.ts";
import { type Instant, instant, type Milliseconds } from "../units/index.ts";

/**
 * Until when a promoted node keeps the performance profile whatever the policy says; undefined where nothing holds it.
 *
 * Only what is published counts, so that a restart changes nothing: a node is promoted when its twin shows performance in spec
 * and class and says since when. A time further ahead than `dwell` is no skew between two clocks but a clock that was set back:
 * it holds nothing, or the node would be held for as long as the clock was wrong.
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

/**
 * What a status with the class `next` says of the last transition. The first class of a node is no transition: it has no time,
 * and a node that only started at performance is not held there.
 */
export function lastTransitionTime(
  there: NodeTwinStatus | undefined,
  next: SchedulableClass | undefined,
  now: Instant,
): string | undefined {
  const before = there?.schedulableClass;
  return before === undefined || before === next ? there?.lastTransitionTime : new Date(now).toISOString();
}
