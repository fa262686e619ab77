import type { PodDemand, WorkloadClass } from "../../../core/demand/index.ts";
import type { ScoringKernel } from "../../../core/scoring/index.ts";
import type { FittingNodes } from "../placement/candidates.ts";
import { admits, type JobKindRequest } from "../placement/job-kinds.ts";
import { TournamentTree } from "../placement/tournament-tree.ts";
import { GPU_RESOURCE } from "./machines.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** kube-scheduler scales extender scores of 0–10 to 0–100. */
const EXTENDER_WEIGHT = 10;

/**
 * The nodes that fit one kind of job, ranked as kube-scheduler with the extender does: the extender filters by class
 * and scores by the published twins, and kube-scheduler adds LeastAllocated. Twins change only with an operator pass,
 * so the extender is evaluated once per kind and pass. The first node wins a tie; kube-scheduler picks one at random.
 */
export class JoulieCandidates implements FittingNodes {
  readonly #contest: TournamentTree;
  readonly #site: SimulatedCluster;
  readonly #kernel: ScoringKernel;
  readonly #kind: JobKindRequest;
  readonly #demand: PodDemand;
  readonly #class: WorkloadClass;
  readonly #slots: Int32Array;
  readonly #points: Int16Array;

  /** `slots` maps nodes to the kernel's slots. */
  constructor(kind: JobKindRequest, site: SimulatedCluster, kernel: ScoringKernel, slots: Int32Array) {
    this.#kind = kind;
    this.#site = site;
    this.#kernel = kernel;
    this.#slots = slots;
    this.#class = kind.performance ? "performance" : "standard";
    this.#demand = {
      cpuCores: kind.cores,
      gpus: new Map(kind.gpus > 0 ? [[GPU_RESOURCE, kind.gpus]] : []),
      unreadable: [],
    };
    this.#points = new Int16Array(slots.length);
    this.#contest = new TournamentTree(slots.length);
  }

  rebuild(): void {
    this.#kernel.scoreMany(this.#slots, this.#demand, this.#class, this.#points);
    const { scores } = this.#contest;
    for (let node = 0; node < scores.length; node++) scores[node] = this.#score(node);
    this.#contest.rebuild();
  }

  update(node: number): void {
    this.#contest.set(node, this.#score(node));
  }

  pick(): number {
    return this.#contest.best();
  }

  #score(node: number): number {
    const { cores, gpus } = this.#kind;
    const freeCores = this.#site.freeCores[node] as number;
    if (freeCores < cores || (this.#site.freeGpus[node] as number) < gpus) return Number.NEGATIVE_INFINITY;
    if (!admits(this.#site, node, this.#kind)) return Number.NEGATIVE_INFINITY;
    if (this.#kernel.filter(this.#slots[node] as number, this.#class) !== 0) return Number.NEGATIVE_INFINITY;
    const leastAllocated = Math.floor(((freeCores - cores) * 100) / this.#site.shape(node).cores);
    return EXTENDER_WEIGHT * (this.#points[node] as number) + leastAllocated;
  }
}
