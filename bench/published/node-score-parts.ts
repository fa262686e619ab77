import type { JobKindRequest } from "../../src/programs/simulate/placement/job-kinds.ts";
import type { ScoreParts } from "./arms.ts";
import type { NodeColumns } from "./nodes.ts";
import { HISTORY, PowerSlopes, slope } from "./power-slopes.ts";
import { type ScoreColumns, ScoredCandidates } from "./scored-candidates.ts";

/** Maintains the node parts of all scores as nodes change. */
export class NodeScoreParts {
  readonly #nodes: NodeColumns;
  readonly #parts: ScoreParts;
  readonly #columns: ScoreColumns;
  readonly #trends: PowerSlopes;
  readonly #totals: number[] = [];

  constructor(nodes: NodeColumns, parts: ScoreParts) {
    this.#nodes = nodes;
    this.#parts = parts;
    this.#columns = {
      peakWatts: Float64Array.from({ length: nodes.count }, (_, node) => nodes.shape(node).peakWatts),
      ofNode: new Float64Array(nodes.count),
      ofStrandedGpus: new Float64Array(nodes.count),
      ofTrend: new Float64Array(nodes.count),
    };
    this.#trends = new PowerSlopes(nodes.count);
    for (let node = 0; node < nodes.count; node++) this.update(node);
  }

  candidates(kind: JobKindRequest): ScoredCandidates {
    return new ScoredCandidates(kind, this.#nodes, this.#columns, this.#parts);
  }

  update(node: number): void {
    const freeGpus = this.#nodes.freeGpus[node] as number;
    this.#columns.ofStrandedGpus[node] = this.#parts.ofStrandedGpus(freeGpus);
    this.#columns.ofNode[node] = this.#parts.ofNode({
      shape: this.#nodes.shape(node),
      freeCores: this.#nodes.freeCores[node] as number,
      freeGpus,
      power: this.#nodes.power[node] as number,
    });
  }

  /** Starts a step (one minute) and computes its trends. Returns whether scores changed. */
  beginStep(): boolean {
    const { ofTrend } = this.#parts;
    if (ofTrend === undefined) return false;
    this.#trends.push(this.#nodes.power);
    this.#totals.push(sumInNodeOrder(this.#nodes.power));
    if (this.#totals.length > HISTORY) this.#totals.shift();
    const clusterTrend = slope(this.#totals);
    const { slopes } = this.#trends;
    const { peakWatts, ofTrend: column } = this.#columns;
    for (let node = 0; node < column.length; node++) {
      column[node] = ofTrend(slopes[node] as number, clusterTrend, peakWatts[node] as number);
    }
    return true;
  }

  endStep(): void {
    if (this.#parts.ofTrend !== undefined) this.#trends.amend(this.#nodes.power);
  }
}

/** Sums in node order: floating-point results depend on it. */
export function sumInNodeOrder(power: Float64Array): number {
  let total = 0;
  for (let node = 0; node < power.length; node++) total += power[node] as number;
  return total;
}
