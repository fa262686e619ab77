import type { NodeTwin, NodeTwinSpec } from "../api/index.ts";
import {
  blockingTaintOf,
  capsUnder,
  guard,
  hasSameCaps,
  lastTargetProfile,
  type ObservedState,
  observedStateOf,
  type PlannedNode,
  type PowerState,
  type ProfileCaps,
  publishedStateOf,
  targetOf,
} from "../policy/index.ts";
import { effectiveCaps, nodePower } from "../twin/index.ts";
import type { ManagedNode, NodeTarget } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";
import type { PlanningSettings } from "./settings.ts";

/** The input of a target, besides the settings. */
interface TargetInput {
  readonly managed: ManagedNode;
  readonly planned: PlannedNode;
  readonly twin: NodeTwin | undefined;
  readonly performancePods: number | undefined;
}

/** Undefined for a node that is not eligible and never had a target. */
export function nodeTargetFor(
  managed: ManagedNode,
  assigned: PlannedNode | undefined,
  performancePods: number | undefined,
  { snapshot, settings, cache }: PlanningInput,
): NodeTarget | undefined {
  const twin = snapshot.twin(managed.name);
  const planned = assigned ?? lastTargetOf(managed, twin);
  if (planned === undefined) return undefined;
  const results = cache.of(managed.name);
  const last = results.target;
  const isSame =
    last?.managed === managed &&
    last.planned === planned.profile &&
    last.reason === planned.reason &&
    last.twin === twin &&
    last.performancePods === performancePods;
  if (isSame) return last;
  return (results.target = targetFor({ managed, planned, twin, performancePods }, settings));
}

/** A managed node that is not eligible keeps its last target; a node that never had one gets none. */
function lastTargetOf({ name, node, eligibility }: ManagedNode, twin: NodeTwin | undefined): PlannedNode | undefined {
  const profile = lastTargetProfile(twin?.spec);
  const taint = eligibility === "tainted" ? blockingTaintOf(node) : undefined;
  const why = taint === undefined ? eligibility : `tainted with ${taint.key}:${taint.effect}`;
  return profile && { name, profile, reason: `${why}: it keeps its last target` };
}

function targetFor({ managed, planned, twin, performancePods }: TargetInput, settings: PlanningSettings): NodeTarget {
  const { name, node, eligibility, shape, pin } = managed;
  const seen = observedStateOf(node, twin, { caps: shape.caps, pin, powerProfileLabel: settings.labels.powerProfile });
  const decision = guard(seen, { planned: planned.profile, performancePods }, settings.guard);
  // The class can be published only after the NodeTwin exists, and eco caps only after the class.
  const next: PowerState = twin === undefined ? { ...decision.next, caps: "performance" } : decision.next;
  const published = publishedStateOf(next);
  const spec =
    twin !== undefined && eligibility !== "eligible" && keepsSpec(twin.spec, seen, next, capsUnder(pin, shape.caps))
      ? twin.spec
      : { nodeName: name, ...targetOf(published, pin, shape.caps, settings.policy.type) };
  const caps = effectiveCaps(spec, shape.hardware);
  return {
    name,
    planned: planned.profile,
    reason: planned.reason,
    performancePods,
    seen,
    decision,
    next,
    spec,
    labels: {
      [settings.labels.powerProfile]: published.profile,
      [settings.labels.draining]: String(published.draining),
    },
    managed,
    twin,
    caps,
    budget: nodePower(shape.hardware, caps),
  };
}

/**
 * A node that is not eligible keeps its spec unchanged, with one exception: a change to eco that has started is completed, so
 * its eco caps still follow.
 */
function keepsSpec(spec: NodeTwinSpec, seen: ObservedState, next: PowerState, { performance }: ProfileCaps): boolean {
  if (next.state !== seen.state) return false;
  const waitsForEcoCaps = next.caps === "eco" && hasSameCaps(spec, performance);
  return !waitsForEcoCaps;
}
