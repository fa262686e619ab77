import { labels, type Node, type NodeTwin, type NodeTwinStatus } from "../../../core/api/index.ts";
import type { Caps } from "../../../core/physics/index.ts";
import {
  capIntents,
  type GuardOptions,
  guard,
  type PlanNode,
  type PolicySettings,
  type ProfileCaps,
  planProfiles,
  published,
  seenOn,
  targetOf,
} from "../../../core/policy/index.ts";
import { defaultScoringSettings, ScoringKernel } from "../../../core/scoring/index.ts";
import { compute, effectiveCaps, nodePower, PowerTrend, supplyTotals } from "../../../core/twin/index.ts";
import { type Instant, instant, watts } from "../../../core/units/index.ts";
import type { PolicyName } from "../contenders.ts";
import { capsFor } from "./caps.ts";
import type { Machine } from "./machines.ts";
import { capSettings, guardOptions, policySettings } from "./settings.ts";
import type { Site } from "./site.ts";

/** Simulations begin at a midnight; which one does not matter. */
const START = Date.UTC(2026, 0, 1);
const instantAt = (seconds: number): Instant => instant(START + seconds * 1000);

interface Managed {
  readonly machine: Machine;
  readonly caps: ProfileCaps;
  readonly trend: PowerTrend;
  node: Node;
  twin: (Pick<NodeTwin, "spec"> & { status: NodeTwinStatus }) | undefined;
  /** What an agent would enforce, and whether it does already. */
  wanted: Caps;
  enforced: boolean;
}

/**
 * The operator's decisions on simulated nodes: demand, plan, guard, target and twin are the production code, their writes
 * arrive at once. Agents enforce what it last published when they are told to.
 */
export class Operator {
  /** What the extender knows: the twins as they were published last. */
  readonly kernel = new ScoringKernel(defaultScoringSettings);
  readonly #site: Site;
  readonly #policy: PolicySettings | undefined;
  readonly #guard: GuardOptions = guardOptions;
  readonly #managed: readonly Managed[];
  readonly #planNodes: readonly PlanNode[];

  constructor(machines: readonly Machine[], site: Site, policy: PolicyName) {
    this.#site = site;
    this.#policy = policy === "none" ? undefined : { ...policySettings, type: policy };
    const capsOf = capIntents(capSettings);
    this.#managed = machines.map((machine) => ({
      machine,
      caps: capsOf(machine.hardware),
      trend: new PowerTrend(),
      node: machine.node,
      twin: undefined,
      wanted: {},
      enforced: true,
    }));
    this.#planNodes = machines.map(({ name, density, hardware }) => ({ name, density, family: hardware.family }));
    for (const { name, hardware, node } of machines) {
      this.kernel.upsertHardware(name, hardware);
      this.kernel.upsertLabels(name, node.metadata.labels);
    }
  }

  /** One pass. `waiting` performance jobs are part of the demand. */
  pass(at: number, waiting: number): void {
    const now = instantAt(at);
    const performancePods = this.#site.performanceJobs.reduce((sum, jobs) => sum + jobs, waiting);
    const planned =
      this.#policy === undefined
        ? undefined
        : new Map(
            planProfiles(this.#planNodes, this.#policy, { performancePods, now }).nodes.map(({ name, profile }) => [
              name,
              profile,
            ]),
          );
    const supply = this.#supplyTotals();
    const lastUpdated = new Date(now).toISOString();
    for (const [index, managed] of this.#managed.entries()) {
      const { machine, caps, trend, node, twin } = managed;
      const { name, hardware, density } = machine;
      const seen = seenOn(node, twin, { caps, pin: undefined, powerProfileLabel: labels.powerProfile });
      const input = {
        planned: planned?.get(name) ?? "performance",
        performancePods: this.#site.performanceJobs[index] as number,
      } as const;
      const face = published(guard(seen, input, this.#guard).next);
      const spec = targetOf(face, undefined, caps, this.#policy?.type ?? policySettings.type);
      const reading = { power: watts(this.#site.power[index] as number), source: "agent", at: now } as const;
      trend.add(reading, now);
      const status: NodeTwinStatus = {
        ...compute({
          hardware,
          caps: effectiveCaps(spec, hardware),
          schedulableClass: face.schedulableClass,
          density: density.total,
          supplyTotal: supply(node.metadata.labels?.[labels.rack]),
          reading,
          trend: trend.slope(now),
        }),
        lastUpdated,
      };
      const profile = face.profile;
      if (node.metadata.labels?.[labels.powerProfile] !== profile) {
        managed.node = relabelled(node, { [labels.powerProfile]: profile, [labels.draining]: String(face.draining) });
        this.kernel.upsertLabels(name, managed.node.metadata.labels);
      }
      if (
        twin === undefined ||
        twin.status.schedulableClass !== status.schedulableClass ||
        capsDiffer(twin.spec, spec)
      ) {
        managed.wanted = capsFor(spec, hardware);
        managed.enforced = false;
      }
      managed.twin = { spec: { nodeName: name, ...spec }, status };
      this.kernel.upsertTwin(name, status);
    }
    this.kernel.beginBatch(now);
  }

  /** Agents come by: calls back for every node whose caps are to change. */
  enforce(set: (node: number, caps: Caps) => void): void {
    for (const [index, managed] of this.#managed.entries()) {
      if (managed.enforced) continue;
      managed.enforced = true;
      set(index, managed.wanted);
    }
  }

  #supplyTotals(): ReturnType<typeof supplyTotals> {
    return supplyTotals(
      this.#managed.map(({ machine, twin }, index) => ({
        name: machine.name,
        rack: machine.node.metadata.labels?.[labels.rack],
        measured: watts(this.#site.power[index] as number),
        capEstimate: twin && nodePower(machine.hardware, effectiveCaps(twin.spec, machine.hardware)),
      })),
    );
  }
}

const relabelled = (node: Node, changed: Readonly<Record<string, string>>): Node => ({
  ...node,
  metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...changed } },
});

const capsDiffer = (
  one: Pick<NodeTwin["spec"], "cpu" | "gpu">,
  other: Pick<NodeTwin["spec"], "cpu" | "gpu">,
): boolean =>
  one.cpu?.packagePowerCapPctOfMax !== other.cpu?.packagePowerCapPctOfMax ||
  one.gpu?.powerCap?.capPctOfMax !== other.gpu?.powerCap?.capPctOfMax;
