import type { Profile } from "../../../core/api/index.ts";
import type { NodePlan, SnapshotNode } from "../../../core/planning/index.ts";
import type { FitResult, NodeState, Transition } from "../../../core/policy/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import type { OperatorSettings } from "../settings.ts";
import { definitions } from "./definitions.ts";

/** The operator's Prometheus metrics, updated by passes and writes. */
export class OperatorMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #state;
  readonly #profile;
  readonly #cpuDensity;
  readonly #gpuDensity;
  readonly #transitions;
  readonly #intruders;
  readonly #pendingPods;
  readonly #writeErrors;
  readonly #writes;
  readonly #dropped;
  readonly #passes;

  constructor(
    metrics: ProgramMetrics,
    facts: { readonly leading: () => boolean; readonly podsReadable: () => boolean },
  ) {
    this.#metrics = metrics;
    this.#state = metrics.nodes.states(definitions.nodeState);
    this.#profile = metrics.nodes.states(definitions.profileLabel);
    const density = metrics.nodes.gauge(definitions.density);
    this.#cpuDensity = density.column({ component: "cpu" });
    this.#gpuDensity = density.column({ component: "gpu" });
    this.#transitions = metrics.nodes.counter(definitions.transitions);
    this.#intruders = metrics.nodes.gauge(definitions.intruders).column();
    this.#pendingPods = metrics.gauge(definitions.pendingPods);
    this.#writeErrors = metrics.counter(definitions.writeErrors);
    this.#writes = metrics.counter(definitions.writes);
    this.#dropped = metrics.counter(definitions.samplesDropped);
    this.#passes = metrics.histogram(definitions.passes);
    metrics.reading(definitions.leading, () => Number(facts.leading()));
    metrics.reading(definitions.podsReadable, () => Number(facts.podsReadable()));
  }

  /** `intruders` is undefined while pods cannot be read; the series is then absent. */
  recordPlan({ name, managed: { shape } }: NodePlan, intruders: number | undefined): void {
    const row = this.#metrics.nodes.join(name);
    this.#cpuDensity.set(row, shape.density.cpu);
    this.#gpuDensity.set(row, shape.density.gpu);
    this.#intruders.set(row, intruders);
  }

  /** What fit_aware_v1 found for pending performance pods; undefined with other policies. */
  recordFit(fit: FitResult | undefined): void {
    if (fit === undefined) return;
    this.#pendingPods.set({ fit: "performance_node" }, fit.onPerformance);
    this.#pendingPods.set({ fit: "promotion" }, fit.onPromoted);
    this.#pendingPods.set({ fit: "none" }, fit.unplaced);
  }

  /** The published state of a node, from a watch or from the response to a write. */
  recordState(node: SnapshotNode, state: NodeState, settings: OperatorSettings): void {
    const row = this.#metrics.nodes.row(node.metadata.name);
    if (row === undefined) return;
    this.#state.set(row, state);
    const label = node.metadata.labels?.[settings.labels.powerProfile];
    this.#profile.set(row, label === "performance" || label === "eco" ? (label satisfies Profile) : undefined);
  }

  countTransition(name: string, { from, to, result }: Transition): void {
    const row = this.#metrics.nodes.row(name);
    if (row !== undefined) this.#transitions.add(row, 1, { from_state: from, to_state: to, result });
  }

  keepOnly(names: ReadonlySet<string>): void {
    this.#metrics.nodes.keepOnly(names);
  }

  countWrite(kind: string): void {
    this.#writes.inc({ kind });
  }

  countWriteError(kind: string): void {
    this.#writeErrors.inc({ kind });
  }

  countDroppedSamples(source: string, reasons: ReadonlyMap<string, number>): void {
    for (const [reason, count] of reasons) this.#dropped.inc({ source, reason }, count);
  }

  observePass(seconds: number): void {
    this.#passes.observe(seconds);
  }
}
