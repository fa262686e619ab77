import type { NodeTwinStatus } from "../api/index.ts";
import { lastTransitionTime } from "../policy/index.ts";
import type { TwinOutput } from "../twin/index.ts";
import type { Instant } from "../units/index.ts";
import type { NodeTarget } from "./node-target.ts";

/** Everything that was decided about one node, and the reasons. The same object as in the last pass if nothing changed. */
export interface NodePlan extends NodeTarget {
  readonly status: TwinOutput;
}

/** A static estimate has no time of its own: it holds at the time of publication. */
export function statusAt({ powerMeasurement, ...rest }: TwinOutput, now: Instant): TwinOutput {
  if (powerMeasurement?.source !== "static")
    return powerMeasurement === undefined ? rest : { ...rest, powerMeasurement };
  return { ...rest, powerMeasurement: { ...powerMeasurement, measuredAt: new Date(now).toISOString() } };
}

/** The status to write over `published`, with its times. `isWorthPublishing` of core/twin decides whether to write it. */
export function statusToPublish(
  { status }: NodePlan,
  published: NodeTwinStatus | undefined,
  now: Instant,
): NodeTwinStatus {
  const transition = lastTransitionTime(published, status.schedulableClass, now);
  return {
    ...statusAt(status, now),
    ...(transition !== undefined && { lastTransitionTime: transition }),
    lastUpdated: new Date(now).toISOString(),
  };
}
