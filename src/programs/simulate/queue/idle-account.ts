import type { SleepPlan } from "../../../core/sleep/index.ts";
import type { ClusterMachine } from "./machines.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** Why an empty node is on. `family` includes the learning time; most `other` nodes have not been empty for SLEEP_AFTER. */
const idleReasons = ["reserve", "family", "zone", "other"] as const;
type IdleReason = (typeof idleReasons)[number];

/** What nodes draw without work although nodes may sleep, from one sample a minute. */
export interface IdleShares {
  /** Percent of the power of the cluster that empty nodes draw, by what keeps them on. */
  readonly empty: Readonly<Record<IdleReason, number>>;
  /** Mean number of free boards on nodes that run jobs. */
  readonly freeBoards: number;
}

export class IdleAccount {
  readonly #watts: Record<IdleReason, number> = { reserve: 0, family: 0, zone: 0, other: 0 };
  #totalWatts = 0;
  #freeBoards = 0;
  #samples = 0;
  readonly #machines: readonly ClusterMachine[];
  readonly #site: SimulatedCluster;

  constructor(machines: readonly ClusterMachine[], site: SimulatedCluster) {
    this.#machines = machines;
    this.#site = site;
  }

  /** Directly after a pass, so that its plan describes the nodes as they are. Without a plan no node sleeps. */
  sample(plan: SleepPlan | undefined): void {
    if (plan === undefined) return;
    const site = this.#site;
    this.#samples++;
    this.#totalWatts += site.totalWatts;
    for (const [index, { name }] of this.#machines.entries()) {
      if (site.powerOf(index) !== "on") continue;
      if (site.jobsOn(index) > 0) this.#freeBoards += site.freeGpus[index] as number;
      else this.#watts[reasonOf(plan, name)] += site.wattsOf(index);
    }
  }

  /** Undefined without a sample. */
  get shares(): IdleShares | undefined {
    if (!(this.#totalWatts > 0)) return undefined;
    const empty = { ...this.#watts };
    for (const reason of idleReasons) empty[reason] *= 100 / this.#totalWatts;
    return { empty, freeBoards: this.#freeBoards / this.#samples };
  }
}

function reasonOf(plan: SleepPlan, name: string): IdleReason {
  const need = plan.nodes.get(name)?.need;
  if (need === "learning") return "family";
  return need === "reserve" || need === "family" || need === "zone" ? need : "other";
}
