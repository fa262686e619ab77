import { isDeepStrictEqual } from "node:util";
import type { NodeTwin, NodeTwinSpec, Profile } from "../../core/api/index.ts";
import {
  blockingTaintOf,
  capsUnder,
  type GuardDecision,
  guard,
  lastTargetProfile,
  type ObservedState,
  observedStateOf,
  type PlannedNode,
  type PowerState,
  type ProfileCaps,
  publishedStateOf,
  targetOf,
} from "../../core/policy/index.ts";
import { type EffectiveCaps, effectiveCaps, nodePower } from "../../core/twin/index.ts";
import type { Watts } from "../../core/units/index.ts";
import type { ManagedNode } from "./managed-node.ts";
import type { OperatorSettings } from "./settings.ts";

/** What is wanted of one node, and why. */
export interface Target {
  readonly name: string;
  readonly planned: Profile;
  readonly reason: string;
  /** Undefined where pods could not be read. */
  readonly performancePods: number | undefined;
  readonly seen: ObservedState;
  readonly decision: GuardDecision;
  /** What the decision comes to in this pass. */
  readonly next: PowerState;
  readonly spec: NodeTwinSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly managed: ManagedNode;
  readonly twin: NodeTwin | undefined;
  readonly caps: EffectiveCaps;
  /** What the node may draw under its caps. */
  readonly budget: Watts | undefined;
}

/** All that a target depends on beside the settings. */
export interface TargetInput {
  readonly managed: ManagedNode;
  readonly planned: PlannedNode;
  readonly twin: NodeTwin | undefined;
  readonly performancePods: number | undefined;
}

/** Whether this input would make the same target again. */
export const isTargetOf = (target: Target, { managed, planned, twin, performancePods }: TargetInput): boolean =>
  target.managed === managed &&
  target.twin === twin &&
  target.performancePods === performancePods &&
  target.planned === planned.profile &&
  target.reason === planned.reason;

/** A managed node that is not eligible stays what it is; one that never had a target gets none. */
export function kept({ name, node, eligibility }: ManagedNode, twin: NodeTwin | undefined): PlannedNode | undefined {
  const profile = lastTargetProfile(twin?.spec);
  const taint = eligibility === "tainted" ? blockingTaintOf(node) : undefined;
  const why = taint === undefined ? eligibility : `tainted with ${taint.key}:${taint.effect}`;
  return profile && { name, profile, reason: `${why}: it keeps its last target` };
}

export function targetFor(input: TargetInput, settings: OperatorSettings): Target {
  const { managed, planned, twin, performancePods } = input;
  const { name, node, eligibility, shape, pin } = managed;
  const seen = observedStateOf(node, twin, { caps: shape.caps, pin, powerProfileLabel: settings.labels.powerProfile });
  const decision = guard(seen, { planned: planned.profile, performancePods }, settings.guard);
  // Class and labels can only follow the object they belong to; until they do, nothing is lowered.
  const next: PowerState = twin === undefined ? { ...decision.next, caps: "performance" } : decision.next;
  const shown = publishedStateOf(next);
  const spec =
    twin !== undefined && eligibility !== "eligible" && isKept(twin.spec, seen, next, capsUnder(pin, shape.caps))
      ? twin.spec
      : { nodeName: name, ...targetOf(shown, pin, shape.caps, settings.policy.type) };
  const caps = effectiveCaps(spec, shape.view);
  return {
    name,
    planned: planned.profile,
    reason: planned.reason,
    performancePods,
    seen,
    decision,
    next,
    spec,
    labels: { [settings.labels.powerProfile]: shown.profile, [settings.labels.draining]: String(shown.draining) },
    managed,
    twin,
    caps,
    budget: nodePower(shape.view, caps),
  };
}

/** A node that is left alone keeps its target to the letter, but for a release that is under way: its eco caps still come. */
function isKept(
  { cpu, gpu }: NodeTwinSpec,
  seen: ObservedState,
  next: PowerState,
  { performance }: ProfileCaps,
): boolean {
  if (next.state !== seen.state) return false;
  const isReleased = next.caps === "eco" && isDeepStrictEqual([cpu, gpu], [performance.cpu, performance.gpu]);
  return !isReleased;
}
