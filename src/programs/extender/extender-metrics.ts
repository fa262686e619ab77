import type { WorkloadClass } from "../../core/demand/index.ts";
import { debugReport, type EnergyOutcome, type ScoringSettings } from "../../core/scoring/index.ts";
import { type Instant, inSeconds, type Milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { ProgramMetrics } from "../../platform/metrics/index.ts";
import { definitions } from "./metrics.ts";
import type { KnownNode } from "./state/cluster-cache.ts";
import { TimeSlice } from "./time-slice.ts";

export type Verb = "filter" | "prioritize";
const classes: readonly WorkloadClass[] = ["performance", "standard"];

/** No score yet. */
const NONE = -1;
/** Takes about a quarter of a millisecond. */
const NODES_PER_STEP = 200;

interface Cluster {
  readonly kernel: { readonly end: number };
  at(slot: number): KnownNode | undefined;
}

/** The extender's Prometheus metrics. A request only stores its scores; series per node are computed at the scrape. */
export class ExtenderMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #clock: Clock;
  readonly #requests;
  readonly #refused;
  readonly #closedConnections;
  readonly #scorings;
  readonly #fallbackNodes;
  readonly #columns;
  /** The last score of each slot, by class. */
  readonly #scores: Record<WorkloadClass, Int16Array> = { performance: noScores(64), standard: noScores(64) };

  /** `clock` is real time. */
  constructor(
    metrics: ProgramMetrics,
    clock: Clock,
    facts: {
      readonly silence: () => Milliseconds | undefined;
      readonly budget: { readonly held: number };
      readonly pods: () => { readonly count: number; readonly assumed: number } | undefined;
    },
  ) {
    this.#metrics = metrics;
    this.#clock = clock;
    this.#requests = {
      filter: {
        count: metrics.counter(definitions.filterRequests),
        durations: metrics.histogram(definitions.filterDurations),
      },
      prioritize: {
        count: metrics.counter(definitions.prioritizeRequests),
        durations: metrics.histogram(definitions.prioritizeDurations),
      },
    };
    this.#refused = metrics.counter(definitions.refused);
    this.#closedConnections = metrics.counter(definitions.closedConnections);
    this.#scorings = metrics.counter(definitions.scorings);
    this.#fallbackNodes = metrics.counter(definitions.fallbackNodes);
    const score = metrics.nodes.gauge(definitions.finalScore);
    this.#columns = {
      score: {
        performance: score.column({ workload_class: "performance" }),
        standard: score.column({ workload_class: "standard" }),
      },
      headroom: metrics.nodes.gauge(definitions.headroom).column(),
      stale: metrics.nodes.gauge(definitions.stale).column(),
    };
    metrics.reading(definitions.silence, () => {
      const silence = facts.silence();
      return silence && inSeconds(silence);
    });
    metrics.reading(definitions.held, () => facts.budget.held);
    metrics.reading(definitions.pods, () => facts.pods()?.count);
    metrics.reading(definitions.assumedPods, () => facts.pods()?.assumed);
  }

  recordAnswer(verb: Verb, workloadClass: WorkloadClass, took: Milliseconds): void {
    const { count, durations } = this.#requests[verb];
    count.inc({ workload_class: workloadClass });
    durations.observe({ workload_class: workloadClass }, inSeconds(took));
  }

  countRejection(status: number): void {
    this.#refused.inc({ status });
  }

  countClosedConnections(count: number): void {
    this.#closedConnections.inc(count);
  }

  /** With SCORING=energy: which formula answered, and why it was not energy. */
  recordScoring(scoring: "energy" | "headroom", reason: string, outcome?: EnergyOutcome): void {
    this.#scorings.inc({ scoring, reason });
    if (outcome !== undefined && outcome.unknown > 0) this.#fallbackNodes.inc(outcome.unknown);
  }

  recordScores(workloadClass: WorkloadClass, slots: Int32Array, scores: Int16Array, end: number): void {
    let last = this.#scores[workloadClass];
    if (last.length < end) {
      const longer = noScores(end * 2);
      longer.set(last);
      this.#scores[workloadClass] = last = longer;
    }
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] as number;
      if (slot >= 0) last[slot] = scores[at] as number;
    }
  }

  removeNode(name: string, slot: number): void {
    this.#metrics.nodes.leave(name);
    for (const one of classes) {
      if (slot < this.#scores[one].length) this.#scores[one][slot] = NONE;
    }
  }

  async *render(cluster: Cluster, now: Instant, settings: ScoringSettings): AsyncGenerator<string, void, undefined> {
    const slice = new TimeSlice(this.#clock);
    for (let from = 0; from < cluster.kernel.end; from += NODES_PER_STEP) {
      for (let slot = from; slot < from + NODES_PER_STEP; slot++)
        this.#updateNode(cluster.at(slot), slot, now, settings);
      await slice.next();
    }
    yield* this.#metrics.text();
  }

  #updateNode(node: KnownNode | undefined, slot: number, now: Instant, settings: ScoringSettings): void {
    if (node === undefined) return;
    const row = this.#metrics.nodes.join(node.name);
    const [report] = debugReport(
      [{ name: node.name, twin: node.status, hardware: node.hardware }],
      now,
      settings,
    ).nodes;
    this.#columns.headroom.set(row, report?.headroom ?? undefined);
    this.#columns.stale.set(row, Number(report?.stale ?? true));
    for (const one of classes) {
      const score = this.#scores[one][slot] ?? NONE;
      this.#columns.score[one].set(row, score === NONE ? undefined : score);
    }
  }
}

const noScores = (slots: number): Int16Array => new Int16Array(slots).fill(NONE);
