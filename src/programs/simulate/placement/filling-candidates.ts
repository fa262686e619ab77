import type { FittingNodes } from "./candidates.ts";
import { admits, type JobKindRequest, type PlacementNodes } from "./job-kinds.ts";
import { TournamentTree } from "./tournament-tree.ts";

/** The nodes that fit one kind of job, those with most or least of their cores and GPUs taken first. */
export class FillingCandidates implements FittingNodes {
  readonly #contest: TournamentTree;
  readonly #nodes: PlacementNodes;
  readonly #kind: JobKindRequest;
  readonly #sign: 1 | -1;

  constructor(kind: JobKindRequest, nodes: PlacementNodes, first: "most" | "least") {
    this.#kind = kind;
    this.#nodes = nodes;
    this.#sign = first === "most" ? 1 : -1;
    this.#contest = new TournamentTree(nodes.count);
  }

  rebuild(): void {
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
    const { cores, gpus } = this.#nodes.shape(node);
    const freeCores = this.#nodes.freeCores[node] as number;
    const freeGpus = this.#nodes.freeGpus[node] as number;
    if (freeCores < this.#kind.cores || freeGpus < this.#kind.gpus) return Number.NEGATIVE_INFINITY;
    if (!admits(this.#nodes, node, this.#kind)) return Number.NEGATIVE_INFINITY;
    const filledShare = (cores - freeCores) / cores + (gpus > 0 ? (gpus - freeGpus) / gpus : 0);
    return this.#sign * filledShare;
  }
}
