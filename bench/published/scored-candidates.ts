import type { JobKindRequest } from "../../src/programs/simulate/placement/job-kinds.ts";
import type { ScoreParts } from "./arms.ts";
import type { FittingNodes } from "./candidates.ts";
import { expectedAddedWatts } from "./node-shape.ts";
import type { NodeColumns } from "./nodes.ts";
import { TournamentTree } from "./tournament-tree.ts";

/** Node parts of the scores, one column each. */
export interface ScoreColumns {
  readonly peakWatts: Float64Array;
  readonly ofNode: Float64Array;
  readonly ofStrandedGpus: Float64Array;
  readonly ofTrend: Float64Array;
}

/** The nodes that fit one kind of job, ranked by score. */
export class ScoredCandidates implements FittingNodes {
  readonly #contest: TournamentTree;
  readonly #first: number;
  readonly #nodes: NodeColumns;
  readonly #columns: ScoreColumns;
  readonly #kind: JobKindRequest;
  readonly #parts: ScoreParts;
  /** Indexed by node, which avoids lookups in the hot loop. */
  readonly #marginal: Float64Array;
  readonly #ofDemand: Float64Array;
  /** Zeros: a job with GPUs strands none. */
  readonly #noStrandedGpus: Float64Array;

  constructor(kind: JobKindRequest, nodes: NodeColumns, columns: ScoreColumns, parts: ScoreParts) {
    this.#kind = kind;
    this.#nodes = nodes;
    this.#columns = columns;
    this.#parts = parts;
    let first = nodes.count;
    let end = 0;
    for (let node = 0; node < nodes.count; node++) {
      const { cores, gpus } = nodes.shape(node);
      if (cores < kind.cores || gpus < kind.gpus) continue;
      first = Math.min(first, node);
      end = node + 1;
    }
    const size = Math.max(0, end - first);
    this.#first = first;
    this.#contest = new TournamentTree(size);
    this.#marginal = new Float64Array(size);
    this.#ofDemand = new Float64Array(size);
    this.#noStrandedGpus = new Float64Array(kind.gpus > 0 ? nodes.count : 0);
    for (let at = 0; at < size; at++) {
      const marginal = expectedAddedWatts(nodes.shape(first + at), kind.cores, kind.gpus, kind.performance);
      this.#marginal[at] = marginal;
      this.#ofDemand[at] = parts.ofDemand(marginal);
    }
  }

  /** Computes `#score` for every node inline: this loop dominates the replay time. */
  rebuild(): void {
    const { scores } = this.#contest;
    const { freeCores, freeGpus, power } = this.#nodes;
    const { peakWatts, ofNode, ofStrandedGpus, ofTrend } = this.#columns;
    const { headroomWeight, lowest, highest } = this.#parts;
    const { cores, gpus } = this.#kind;
    const first = this.#first;
    const marginal = this.#marginal;
    const ofDemand = this.#ofDemand;
    const stranded = gpus === 0 ? ofStrandedGpus : this.#noStrandedGpus;
    for (let at = 0; at < scores.length; at++) {
      const node = first + at;
      if ((freeCores[node] as number) < cores || (freeGpus[node] as number) < gpus) {
        scores[at] = -Infinity;
        continue;
      }
      const peak = peakWatts[node] as number;
      const left = ((peak - (power[node] as number) - (marginal[at] as number)) / peak) * 100;
      const score =
        headroomWeight * Math.max(0, left) +
        (ofNode[node] as number) -
        (ofDemand[at] as number) -
        (stranded[node] as number) -
        (ofTrend[node] as number);
      scores[at] = Math.min(highest, Math.max(lowest, score));
    }
    this.#contest.rebuild();
  }

  update(node: number): void {
    const at = node - this.#first;
    if (at >= 0 && at < this.#contest.scores.length) this.#contest.set(at, this.#score(at));
  }

  pick(): number {
    const best = this.#contest.best();
    return best === -1 ? -1 : this.#first + best;
  }

  #score(at: number): number {
    const node = this.#first + at;
    const { freeCores, freeGpus, power } = this.#nodes;
    const { cores, gpus } = this.#kind;
    if ((freeCores[node] as number) < cores || (freeGpus[node] as number) < gpus) return -Infinity;
    const { peakWatts, ofNode, ofStrandedGpus, ofTrend } = this.#columns;
    const { headroomWeight, lowest, highest } = this.#parts;
    const peak = peakWatts[node] as number;
    const left = ((peak - (power[node] as number) - (this.#marginal[at] as number)) / peak) * 100;
    const score =
      headroomWeight * Math.max(0, left) +
      (ofNode[node] as number) -
      (this.#ofDemand[at] as number) -
      (gpus === 0 ? (ofStrandedGpus[node] as number) : 0) -
      (ofTrend[node] as number);
    return Math.min(highest, Math.max(lowest, score));
  }
}
