import type { RandomSource } from "../../src/core/units/index.ts";
import { indexJobKinds } from "../../src/programs/simulate/placement/job-kinds.ts";
import type { Trace } from "../../src/programs/simulate/trace/trace.ts";
import { type Arm, scoreParts } from "./arms.ts";
import { CandidateCache } from "./candidates.ts";
import type { Cluster } from "./cluster.ts";
import { STEP_SEC } from "./cluster.ts";
import { NodeScoreParts, sumInNodeOrder } from "./node-score-parts.ts";
import { NodeColumns } from "./nodes.ts";
import { RandomCandidates } from "./random-candidates.ts";

export interface Replay {
  /** Jobs submitted before the last step began; later jobs were not considered. */
  readonly submitted: number;
  /** Node of each job; −1 = dropped. */
  readonly placedOn: Int32Array;
  /** Cluster power at the end of each step. */
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

/**
 * Replays the published experiment with the same placements as `reference.ts`, without evaluating every node each
 * time.
 */
export function replay({ trace, cluster, arm, steps, random, onStep }: ReplayOptions): Replay {
  const nodes = new NodeColumns(trace, cluster, steps);
  // The class affects scores only through GPU power.
  const { kinds, kindOf } = indexJobKinds(trace, (gpus) => gpus > 0);
  const placedOn = new Int32Array(trace.length).fill(-1);
  const watts = new Float64Array(steps);
  const scoring = arm === "random" ? undefined : new NodeScoreParts(nodes, scoreParts[arm]);
  const fields = new CandidateCache(kinds, nodes.count, (kind) =>
    scoring === undefined ? new RandomCandidates(kind, nodes, random) : scoring.candidates(kind),
  );
  const changed = (node: number): void => {
    scoring?.update(node);
    fields.changed(node);
  };
  let next = 0;
  for (let step = 0; step < steps; step++) {
    nodes.release(step, placedOn, changed);
    if (scoring?.beginStep() === true) fields.invalidateAll();
    for (; next < trace.length && (trace.submitSec[next] as number) <= step * STEP_SEC; next++) {
      const node = fields.pick(kindOf[next] as number);
      if (node === -1) continue;
      placedOn[next] = node;
      nodes.place(next, node, step);
      changed(node);
    }
    scoring?.endStep();
    watts[step] = sumInNodeOrder(nodes.power);
    onStep?.(step);
  }
  return { submitted: next, placedOn, watts };
}
