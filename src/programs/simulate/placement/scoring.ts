import type { ScoreParts } from "./arms.ts";
import type { Kind } from "./kinds.ts";
import type { NodeFigures } from "./nodes.ts";
import { type ScoreColumns, ScoredField } from "./scored-field.ts";
import { HISTORY, slope } from "./slope.ts";
import { Trends } from "./trends.ts";

/** The parts of every node's score, kept as the nodes change. */
export class Scoring {
  readonly #nodes: NodeFigures;
  readonly #parts: ScoreParts;
  readonly #columns: ScoreColumns;
  readonly #trends: Trends;
  readonly #totals: number[] = [];

  constructor(nodes: NodeFigures, parts: ScoreParts) {
    this.#nodes = nodes;
    this.#parts = parts;
    this.#columns = {
      peakWatts: Float64Array.from({ length: nodes.count }, (_, node) => nodes.shape(node).peakWatts),
      ofNode: new Float64Array(nodes.count),
      ofStrandedGpus: new Float64Array(nodes.count),
      ofTrend: new Float64Array(nodes.count),
    };
    this.#trends = new Trends(nodes.count);
    for (let node = 0; node < nodes.count; node++) this.look(node);
  }

  field(kind: Kind): ScoredField {
    return new ScoredField(kind, this.#nodes, this.#columns, this.#parts);
  }

  look(node: number): void {
    const freeGpus = this.#nodes.freeGpus[node] as number;
    this.#columns.ofStrandedGpus[node] = this.#parts.ofStrandedGpus(freeGpus);
    this.#columns.ofNode[node] = this.#parts.ofNode({
      shape: this.#nodes.shape(node),
      freeCores: this.#nodes.freeCores[node] as number,
      freeGpus,
      power: this.#nodes.power[node] as number,
    });
  }

  /** A minute begins: fixes its trends; true where that moved scores. */
  beginStep(): boolean {
    const { ofTrend } = this.#parts;
    if (ofTrend === undefined) return false;
    this.#trends.push(this.#nodes.power);
    this.#totals.push(totalOf(this.#nodes.power));
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

/** In the order of the nodes: sums of floating-point numbers depend on it. */
export function totalOf(power: Float64Array): number {
  let total = 0;
  for (let node = 0; node < power.length; node++) total += power[node] as number;
  return total;
}
