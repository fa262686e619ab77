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

/** Start of all simulations; the date is arbitrary. */
const START = Date.UTC(2026, 0, 1);
const instantAt = (seconds: number): Instant => instant(START + seconds * 1000);

/**
 * Runs the production code for demand, plan, guard, target and twin on simulated nodes. Writes take effect at once.
 * Agents apply the last published caps when `enforce` is called.
 */
export class SimulatedOperator {
  /** The extender's scoring state, from the published twins. */
  readonly kernel = new ScoringKernel(defaultScoringSettings);
  readonly #site: SimulatedCluster;
  /** Absent = every node stays at performance but still has a twin. */
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

  /** Runs one pass. `waiting` performance jobs count as demand. */
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

  /** Calls `set` for every node whose published caps are not applied yet. */
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
