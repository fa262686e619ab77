import { labels, type Profile } from "../../../core/api/index.ts";
import type { Caps } from "../../../core/physics/index.ts";
import { capIntents, type PlanNode, type PolicySettings, planProfiles } from "../../../core/policy/index.ts";
import { defaultScoringSettings, ScoringKernel } from "../../../core/scoring/index.ts";
import { supplyTotals } from "../../../core/twin/index.ts";
import { type Instant, instant, watts } from "../../../core/units/index.ts";
import type { PolicyName } from "../contenders.ts";
import type { ClusterMachine } from "./machines.ts";
import { SimulatedManagedNode } from "./managed-node.ts";
import { capSettings, policySettings } from "./settings.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** Simulations begin at a midnight; which one does not matter. */
const START = Date.UTC(2026, 0, 1);
const instantAt = (seconds: number): Instant => instant(START + seconds * 1000);

/**
 * The operator's decisions on simulated nodes: demand, plan, guard, target and twin are the production code, their writes
 * arrive at once. Agents enforce what it last published when they are told to.
 */
export class SimulatedOperator {
  /** What the extender knows: the twins as they were published last. */
  readonly kernel = new ScoringKernel(defaultScoringSettings);
  readonly #site: SimulatedCluster;
  /** Absent = every node stays at performance, and has a twin all the same. */
  readonly #policy: PolicySettings | undefined;
  readonly #nodes: readonly SimulatedManagedNode[];
  readonly #planNodes: readonly PlanNode[];

  constructor(machines: readonly ClusterMachine[], site: SimulatedCluster, policy: PolicyName) {
    this.#site = site;
    this.#policy = policy === "none" ? undefined : { ...policySettings, type: policy };
    const capsOf = capIntents(capSettings);
    const policyName = this.#policy?.type ?? policySettings.type;
    this.#nodes = machines.map((machine) => new SimulatedManagedNode(machine, capsOf(machine.hardware), policyName));
    this.#planNodes = machines.map(({ name, density, hardware }) => ({ name, density, family: hardware.family }));
    for (const { name, hardware, node } of machines) {
      this.kernel.upsertHardware(name, hardware);
      this.kernel.upsertLabels(name, node.metadata.labels);
    }
  }

  /** One pass. `waiting` performance jobs are part of the demand. */
  pass(at: number, waiting: number): void {
    const now = instantAt(at);
    const planned = this.#planned(now, waiting);
    const supply = this.#supplyTotals();
    for (const [index, node] of this.#nodes.entries()) {
      const { machine } = node;
      const situation = {
        now,
        planned: planned.get(machine.name) ?? "performance",
        performancePods: this.#site.performanceJobs[index] as number,
        power: watts(this.#site.power[index] as number),
        supplyTotal: supply(rackOf(machine)),
      };
      node.pass(situation, this.kernel);
    }
    this.kernel.beginBatch(now);
  }

  /** Agents come by: calls back for every node whose caps are to be set. */
  enforce(set: (node: number, caps: Caps) => void): void {
    for (const [index, node] of this.#nodes.entries()) {
      const caps = node.takeUnenforced();
      if (caps !== undefined) set(index, caps);
    }
  }

  #planned(now: Instant, waiting: number): ReadonlyMap<string, Profile> {
    if (this.#policy === undefined) return new Map();
    const performancePods = this.#site.performanceJobs.reduce((sum, jobs) => sum + jobs, waiting);
    const planNodes = this.#planNodes.map((node, index) => ({
      ...node,
      heldUntil: this.#nodes[index]?.heldUntil(now),
    }));
    const { nodes } = planProfiles(planNodes, this.#policy, { performancePods, now });
    return new Map(nodes.map(({ name, profile }) => [name, profile]));
  }

  #supplyTotals(): ReturnType<typeof supplyTotals> {
    const racked = this.#nodes.map(({ machine }, index) => ({
      name: machine.name,
      rack: rackOf(machine),
      measured: watts(this.#site.power[index] as number),
    }));
    return supplyTotals(racked);
  }
}

const rackOf = ({ node }: ClusterMachine): string | undefined => node.metadata.labels?.[labels.rack];
