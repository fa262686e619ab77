import type { NodeTwin, NodeTwinSpec, WantedPower } from "../api/index.ts";
import {
  blockingTaintOf,
  capsIn,
  guard,
  hasConfirmedCaps,
  lastTargetProfile,
  type ObservedState,
  observedStateOf,
  type PlannedNode,
  type ProfileState,
  publishedStateOf,
  shownUntilConfirmed,
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
  readonly power: NodePowerTarget;
}

/** The wanted power of a node, and whether it is asleep or will be. */
interface NodePowerTarget {
  readonly wanted: WantedPower | undefined;
  readonly asleep: boolean;
}

/** Undefined for a node that is not eligible and never had a target. */
export function nodeTargetFor(
  managed: ManagedNode,
  assigned: PlannedNode | undefined,
  performancePods: number | undefined,
  power: NodePowerTarget,
  { snapshot, settings }: PlanningInput,
): NodeTarget | undefined {
  const twin = snapshot.twin(managed.name);
  const planned = assigned ?? lastTargetOf(managed, twin, power.asleep);
  if (planned === undefined) return undefined;
  return targetFor({ managed, planned, twin, performancePods, power }, settings);
}

/** A managed node that is not eligible keeps its last target; a node that never had one gets none. */
function lastTargetOf(
  { name, node, eligibility }: ManagedNode,
  twin: NodeTwin | undefined,
  asleep: boolean,
): PlannedNode | undefined {
  const profile = lastTargetProfile(twin?.spec);
  const taint = eligibility === "tainted" ? blockingTaintOf(node) : undefined;
  if (profile !== undefined && asleep) return { name, profile, reason: "asleep: it keeps its last target" };
  const why = taint === undefined ? eligibility : `tainted with ${taint.key}:${taint.effect}`;
  return profile && { name, profile, reason: `${why}: it keeps its last target` };
}

function targetFor(
  { managed, planned, twin, performancePods, power }: TargetInput,
  settings: PlanningSettings,
): NodeTarget {
  const { name, node, eligibility, shape, pin, caps: profileCaps } = managed;
  const seen = observedStateOf(node, twin, { caps: profileCaps, powerProfileLabel: settings.labels.powerProfile });
  const decision = guard(seen, { planned: planned.profile, performancePods }, settings.guard);
  // The class can be published only after the NodeTwin exists, and eco caps only after the class.
  const next: ProfileState = twin === undefined ? { ...decision.next, caps: "performance" } : decision.next;
  const published = publishedStateOf(next);
  const keepsCaps = next.caps === "eco" && decision.keepsEcoCaps === true;
  const targetCaps = twin !== undefined && keepsCaps ? capsIn(twin.spec) : profileCaps[next.caps];
  const keepsTarget = eligibility !== "eligible" || power.asleep;
  const target: NodeTwinSpec =
    twin !== undefined && keepsTarget && keepsSpec(seen, next)
      ? twin.spec
      : { nodeName: name, ...targetOf(published, pin, targetCaps, settings.policy.type) };
  const spec = withPower(target, power.wanted);
  const caps = effectiveCaps(spec, shape.hardware);
  const awaitsAgent = next.state === "ActivePerformance" && !hasConfirmedCaps(twin, spec);
  const shown = awaitsAgent ? shownUntilConfirmed(twin?.status?.schedulableClass) : published;
  return {
    name,
    planned: planned.profile,
    reason: awaitsAgent ? `${planned.reason}; it stays eco until its agent has raised the caps` : planned.reason,
    performancePods,
    seen,
    decision,
    next,
    spec,
    labels: {
      [settings.labels.powerProfile]: shown.profile,
      [settings.labels.draining]: String(shown.draining),
    },
    schedulableClass: shown.schedulableClass,
    awaitsAgent,
    managed,
    twin,
    caps,
    budget: nodePower(shape.hardware, caps),
  };
}

function withPower(target: NodeTwinSpec, wanted: WantedPower | undefined): NodeTwinSpec {
  if (wanted !== undefined) return { ...target, power: wanted };
  if (target.power === undefined) return target;
  const { power: _, ...rest } = target;
  return rest;
}

/** A node that is not eligible keeps its spec. But a change to eco that has started is completed: its eco caps follow. */
function keepsSpec(seen: ObservedState, next: ProfileState): boolean {
  const waitsForEcoCaps = next.caps === "eco" && seen.caps !== "eco";
  return next.state === seen.state && !waitsForEcoCaps;
}
