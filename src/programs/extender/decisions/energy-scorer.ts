import type { Pod } from "../../../core/api/index.ts";
import { expectedDurationOf } from "../../../core/demand/index.ts";
import type { EnergyKernel, EnergySettings, PlacedPod, ScoredPod } from "../../../core/scoring/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { ExtenderMetrics } from "../extender-metrics.ts";
import { type PlacedPods, type PodWatchProblem, podKey } from "../state/placed-pods.ts";
import { type EnergyDecision, podName } from "./decision-log.ts";

export interface EnergyScorerOptions {
  readonly kernel: EnergyKernel;
  readonly pods: PlacedPods;
  readonly settings: EnergySettings;
  readonly metrics: ExtenderMetrics;
  readonly log: Logger;
}

export class EnergyScorer {
  readonly #options: EnergyScorerOptions;
  #reported: PodWatchProblem | undefined;

  constructor(options: EnergyScorerOptions) {
    this.#options = options;
  }

  score(pod: unknown, asked: ScoredPod, slots: Int32Array, scores: Int16Array): EnergyDecision {
    const { kernel, pods, settings, metrics } = this.#options;
    const { duration, problem: durationProblem } = expectedDurationOf(pod as Pod);
    const { cpuCores, gpus } = asked.demand;
    const placed: PlacedPod = { demand: { cpuCores, gpus }, duration };
    const record = { pod: placed, settings, ...(durationProblem !== undefined && { durationProblem }) };
    pods.prepare(podKey(podName(pod)));
    const problem = pods.unavailable;
    this.#report(problem);
    if (problem !== undefined) {
      kernel.scoreMany(slots, asked.demand, asked.workloadClass, scores);
      metrics.recordScoring("headroom", problem);
      return { ...record, fallback: pods.explain(problem) };
    }
    const outcome = kernel.scoreEnergy(slots, placed, asked.workloadClass, scores);
    metrics.recordScoring("energy", "none", outcome);
    return { ...record, outcome, mix: kernel.gpuMix };
  }

  /** Counts the pod on the node that was ranked first, unless the request does not say which pod it is. */
  assume(pod: unknown, { pod: placed, fallback }: EnergyDecision, node: string): void {
    const { name, namespace, uid } = podName(pod);
    if (fallback === undefined && name !== "")
      this.#options.pods.assume(podKey({ name, namespace, uid }), node, placed);
  }

  #report(problem: PodWatchProblem | undefined): void {
    if (problem === this.#reported) return;
    const { log, pods } = this.#options;
    if (problem === undefined) log.info("scoring by energy");
    else log.warn({ reason: pods.explain(problem) }, "SCORING=energy: scoring by headroom");
    this.#reported = problem;
  }
}
