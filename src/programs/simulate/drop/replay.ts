import type { RandomSource } from "../../../core/units/index.ts";
import type { Trace } from "../trace/trace.ts";
import { type Arm, type ScoreParts, scoreParts } from "./arms.ts";
import type { Cluster } from "./cluster.ts";
import { Fields } from "./fields.ts";
import { kindsOf } from "./kinds.ts";
import { Lottery } from "./lottery.ts";
import { NodeColumns } from "./nodes.ts";
import { type ScoreColumns, ScoredField } from "./scored-field.ts";
import { HISTORY, slope } from "./slope.ts";
import { STEP_SEC } from "./step.ts";
import { Trends } from "./trends.ts";

export interface Replay {
  /** How many jobs were submitted before the last step began; those after it were never looked at. */
  readonly submitted: number;
  /** The node each job went to; −1 = none. */
  readonly placedOn: Int32Array;
  /** The cluster's power at the end of each step. */
  readonly watts: Float64Array;
}

export interface ReplayOptions {
  readonly trace: Trace;
  readonly cluster: Cluster;
  readonly arm: Arm;
  readonly steps: number;
  readonly random: RandomSource;
  readonly onStep?: (step: number) => void;
}

/** The published experiment's rules: what `reference.ts` does, placement by placement, without looking at every node each time. */
export function replay({ trace, cluster, arm, steps, random, onStep }: ReplayOptions): Replay {
  const nodes = new NodeColumns(trace, cluster, steps);
  const { kinds, kindOf } = kindsOf(trace);
  const placedOn = new Int32Array(trace.length).fill(-1);
  const watts = new Float64Array(steps);
  const scoring = arm === "random" ? undefined : new Scoring(nodes, scoreParts[arm]);
  const fields = new Fields(kinds, nodes.count, (kind) =>
    scoring === undefined ? new Lottery(kind, nodes, random) : scoring.field(kind),
  );
  const changed = (node: number): void => {
    scoring?.look(node);
    fields.changed(node);
  };
  let next = 0;
  for (let step = 0; step < steps; step++) {
    nodes.release(step, placedOn, changed);
    // Drawing lots counts on nodes that only ever fill up; trends move every node at once.
    if (scoring === undefined || scoring.beginStep()) fields.startAnew();
    for (; next < trace.length && (trace.submitSec[next] as number) <= step * STEP_SEC; next++) {
      const node = fields.pick(kindOf[next] as number);
      if (node === -1) continue;
      placedOn[next] = node;
      nodes.place(next, node, step);
      changed(node);
    }
    scoring?.endStep();
    watts[step] = nodes.totalPower();
    onStep?.(step);
  }
  return { submitted: next, placedOn, watts };
}

/** The parts of every node's score, kept as the nodes change. */
class Scoring {
  readonly #nodes: NodeColumns;
  readonly #parts: ScoreParts;
  readonly #columns: ScoreColumns;
  readonly #trends: Trends;
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
    this.#trends = new Trends(nodes.count);
    for (let node = 0; node < nodes.count; node++) this.look(node);
  }

  field(kind: ConstructorParameters<typeof ScoredField>[0]): ScoredField {
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

  /** Fixes the trends of this step; true where that moved scores. */
  beginStep(): boolean {
    const { ofTrend } = this.#parts;
    if (ofTrend === undefined) return false;
    this.#trends.push(this.#nodes.power);
    this.#totals.push(this.#nodes.totalPower());
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
