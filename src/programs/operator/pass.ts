import { isDeepStrictEqual } from "node:util";
import { labels, type NodePowerProfileSpec, type NodeTwinSpec, type Profile } from "../../core/api/index.ts";
import { type DemandView, demandViewOf } from "../../core/demand/index.ts";
import {
  capsUnder,
  type Eligibility,
  eligibilityOf,
  type GuardDecision,
  guard,
  keptProfile,
  type PlannedNode,
  type PowerState,
  type ProfileCaps,
  pinFrom,
  planProfiles,
  published,
  type SeenState,
  seenOn,
  targetOf,
} from "../../core/policy/index.ts";
import {
  ambientOf,
  compute,
  type EffectiveCaps,
  effectiveCaps,
  estimatedPue,
  nodePower,
  type PowerReading,
  supplyTotals,
  type TwinOutput,
} from "../../core/twin/index.ts";
import type { Instant, Watts } from "../../core/units/index.ts";
import { type Leftovers, leftoversIn } from "./cleanup.ts";
import type { ClusterNode, ClusterView } from "./cluster-view.ts";
import type { Memory, NodeShape } from "./memory.ts";
import { readingOf, type Telemetry } from "./readings.ts";
import type { OperatorSettings } from "./settings.ts";

/** All that was decided about one node, and why. */
export interface NodePlan {
  readonly name: string;
  readonly eligibility: Eligibility;
  readonly planned: Profile;
  readonly reason: string;
  /** Undefined where pods could not be read. */
  readonly performancePods: number | undefined;
  readonly seen: SeenState;
  readonly decision: GuardDecision;
  /** What the decision comes to in this pass. */
  readonly next: PowerState;
  readonly pin: NodePowerProfileSpec | undefined;
  readonly shape: NodeShape;
  readonly spec: NodeTwinSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: TwinOutput;
}

export interface ClusterPlan {
  readonly at: Instant;
  readonly hpCount: number;
  readonly demand: DemandView;
  /** Whether pods could be read: without them no node goes down. */
  readonly current: boolean;
  readonly nodes: ReadonlyMap<string, NodePlan>;
  /** What is to go, by node: of nodes that are gone or no longer managed. */
  readonly leftovers: ReadonlyMap<string, Leftovers>;
}

/** The target of a node, before its twin is computed. */
interface Target extends Omit<NodePlan, "status"> {
  readonly node: ClusterNode;
  readonly caps: EffectiveCaps;
  readonly budget: Watts | undefined;
  readonly reading: PowerReading | undefined;
}

export interface PassInput {
  readonly view: ClusterView;
  readonly settings: OperatorSettings;
  readonly telemetry: Telemetry;
  readonly memory: Memory;
  readonly now: Instant;
}

/** One pass: from the state of the cluster to what is wanted of every managed node. Decisions come from the state alone. */
export function plan(input: PassInput): ClusterPlan {
  const { view, settings, memory, now } = input;
  const demand = demandViewOf(view.pods());
  const managed = managedNodes(input);
  const policyNodes = managed
    .filter(({ eligibility }) => eligibility === "eligible")
    .map(({ name, shape, pin }) => ({ name, density: shape.density, family: shape.view.family, pin: pin?.profile }));
  const { hpCount, nodes: planned } = planProfiles(policyNodes, settings.policy, {
    performancePods: demand.performancePods,
    now,
  });
  const byName = new Map(planned.map((node) => [node.name, node]));
  const targets: Target[] = [];
  for (const node of managed) {
    const own = byName.get(node.name) ?? kept(node.eligibility, view, node.name);
    if (own !== undefined) targets.push(targetFor(node, own, demand, input));
  }
  const nodes = withTwins(targets, input);
  memory.keepOnly(new Map(managed.map(({ name }) => [name, undefined])));
  return { at: now, hpCount, demand, current: view.current, nodes, leftovers: leftoversIn(view, settings) };
}

interface ManagedNode {
  readonly name: string;
  readonly node: ClusterNode;
  readonly eligibility: Eligibility;
  readonly shape: NodeShape;
  readonly pin: NodePowerProfileSpec | undefined;
}

function managedNodes({ view, settings, memory }: PassInput): ManagedNode[] {
  const managed: ManagedNode[] = [];
  for (const node of view.nodes()) {
    const eligibility = eligibilityOf(node, settings.eligibility);
    if (eligibility === "unmanaged") continue;
    const { name } = node.metadata;
    const shape = memory.shapeOf(node, view.hardware(name), settings);
    managed.push({ name, node, eligibility, shape, pin: pinFrom(view.profile(name)) });
  }
  return managed;
}

/** A reserved or cordoned node stays what it is; one that never had a target gets none. */
function kept(eligibility: Eligibility, view: ClusterView, name: string): PlannedNode | undefined {
  const profile = keptProfile(view.twin(name)?.spec);
  return profile && { name, profile, reason: `${eligibility}: it keeps its last target` };
}

function targetFor(managed: ManagedNode, planned: PlannedNode, demand: DemandView, input: PassInput): Target {
  const { name, node, eligibility, shape, pin } = managed;
  const { view, settings, telemetry, memory, now } = input;
  const twin = view.twin(name);
  const seen = seenOn(node, twin, { caps: shape.caps, pin, powerProfileLabel: settings.labels.powerProfile });
  const performancePods = view.current ? (demand.performancePodsByNode.get(name) ?? 0) : undefined;
  const decision = guard(seen, { planned: planned.profile, performancePods }, settings.guard);
  // Class and labels can only follow the object they belong to; until they do, nothing is lowered.
  const next: PowerState = twin === undefined ? { ...decision.next, caps: "performance" } : decision.next;
  const shown = published(next);
  const spec =
    twin !== undefined && eligibility !== "eligible" && isKept(twin.spec, seen, next, capsUnder(pin, shape.caps))
      ? twin.spec
      : { nodeName: name, ...targetOf(shown, pin, shape.caps, settings.policy.type) };
  const caps = effectiveCaps(spec, shape.view);
  const budget = nodePower(shape.view, caps);
  return {
    name,
    eligibility,
    planned: planned.profile,
    reason: planned.reason,
    performancePods,
    seen,
    decision,
    next,
    pin,
    shape,
    spec,
    labels: { [settings.labels.powerProfile]: shown.profile, [settings.labels.draining]: String(shown.draining) },
    node,
    caps,
    budget,
    reading: readingOf({
      node,
      shape,
      view,
      telemetry,
      settings,
      podWatts: () => memory.podWattsOn(node, shape, view),
      budget,
      now,
    }),
  };
}

/** A node that is left alone keeps its target to the letter, but for a release that is under way: its eco caps still come. */
function isKept({ cpu, gpu }: NodeTwinSpec, seen: SeenState, next: PowerState, { performance }: ProfileCaps): boolean {
  if (next.state !== seen.state) return false;
  const isReleased = next.caps === "eco" && isDeepStrictEqual([cpu, gpu], [performance.cpu, performance.gpu]);
  return !isReleased;
}

/** Second, because the supply of a rack is the sum of its nodes. */
function withTwins(targets: readonly Target[], input: PassInput): Map<string, NodePlan> {
  const { settings, memory, now, telemetry } = input;
  const { site, zones, racks } = telemetry.facility;
  const totals = supplyTotals(
    targets.map(({ name, node, reading, budget }) => ({
      name,
      rack: node.metadata.labels?.[labels.rack],
      measured: reading?.power,
      capEstimate: budget,
    })),
    racks,
  );
  const plans = new Map<string, NodePlan>();
  for (const target of targets) {
    const { node, caps, reading } = target;
    const zone = zones.get(node.metadata.labels?.[labels.coolingZone] ?? "");
    const status = compute(
      {
        hardware: target.shape.view,
        caps,
        schedulableClass: published(target.next).schedulableClass,
        density: target.shape.density.total,
        ambient: ambientOf(zone?.ambient, site.ambient),
        supplyTotal: totals.get(target.name),
        pue: estimatedPue(zone, site),
        reading,
        trend: memory.trendWith(target.name, reading, now),
      },
      settings.twin,
    );
    plans.set(target.name, Object.assign(target, { status }));
  }
  return plans;
}
