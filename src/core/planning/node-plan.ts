import type {
  NodePowerProfileSpec,
  NodeTwin,
  NodeTwinSpec,
  NodeTwinStatus,
  Profile,
  SchedulableClass,
} from "../api/index.ts";
import type { Density, HardwareView } from "../inventory/index.ts";
import {
  type Eligibility,
  type FitResult,
  type GuardDecision,
  lastTransitionTime,
  type ObservedState,
  type PlannedNode,
  type ProfileCaps,
  type ProfileLimits,
  type ProfileState,
} from "../policy/index.ts";
import type { NodePowerModel } from "../power/index.ts";
import type { EffectiveCaps, TwinOutput } from "../twin/index.ts";
import { type Instant, isoTime, type Watts } from "../units/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";

// The results of the stages of a pass, in order.

/** Values derived from a node's hardware, and from the queues that eco caps depend on. */
export interface NodeShape {
  readonly hardware: HardwareView;
  readonly power: NodePowerModel;
  readonly density: Density;
  readonly limits: ProfileLimits;
  /** What each profile allows the node if it is not pinned. */
  readonly caps: ProfileCaps;
  /** What the empty node draws at the wall. */
  readonly idle: Watts;
}

/** A node that Joulie manages, and the values derived from its own objects. */
export interface ManagedNode {
  readonly name: string;
  readonly node: SnapshotNode;
  readonly eligibility: Eligibility;
  readonly shape: NodeShape;
  readonly pin: NodePowerProfileSpec | undefined;
  /** What each profile allows it now. */
  readonly caps: ProfileCaps;
}

/** The policy's decision for every eligible node. */
export interface AssignedProfiles {
  readonly hpCount: number;
  readonly byName: ReadonlyMap<string, PlannedNode>;
  readonly fit?: FitResult | undefined;
}

/** The desired spec and labels of one node, and the reason. */
export interface NodeTarget {
  readonly name: string;
  readonly planned: Profile;
  readonly reason: string;
  /** Undefined if the pods could not be read. */
  readonly performancePods: number | undefined;
  /** The state in the snapshot. */
  readonly seen: ObservedState;
  readonly decision: GuardDecision;
  /** The state that this pass writes. */
  readonly next: ProfileState;
  readonly spec: NodeTwinSpec;
  readonly labels: Readonly<Record<string, string>>;
  /** The class of the node if it is awake. */
  readonly schedulableClass: SchedulableClass;
  /** The node is promoted, but its agent has not confirmed the caps yet: schedulers still see it as eco. */
  readonly awaitsAgent: boolean;
  readonly managed: ManagedNode;
  readonly twin: NodeTwin | undefined;
  readonly caps: EffectiveCaps;
  /** The power that the node may draw under its caps. */
  readonly budget: Watts | undefined;
}

/** Everything that was decided about one node, and the reasons. */
export interface NodePlan extends NodeTarget {
  readonly status: PlannedStatus;
}

export type PlannedStatus = TwinOutput & Pick<NodeTwinStatus, "awaitedBy">;

/** A static estimate has no time of its own: it holds at the time of publication. */
export function statusAt({ powerMeasurement, ...rest }: PlannedStatus, now: Instant): PlannedStatus {
  if (powerMeasurement?.source !== "static")
    return powerMeasurement === undefined ? rest : { ...rest, powerMeasurement };
  return { ...rest, powerMeasurement: { ...powerMeasurement, measuredAt: isoTime(now) } };
}

/** The status to write over `published`, with its times. `isTwinWorthPublishing` of core/twin decides whether to write it. */
export function statusToPublish(
  { status }: NodePlan,
  published: NodeTwinStatus | undefined,
  now: Instant,
): NodeTwinStatus {
  const transition = lastTransitionTime(published, status.schedulableClass, now);
  return {
    ...statusAt(status, now),
    ...(transition !== undefined && { lastTransitionTime: transition }),
    lastUpdated: isoTime(now),
  };
}
