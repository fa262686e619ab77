import type { Profile } from "../../../core/api/index.ts";
import type { NodePlan, SnapshotNode } from "../../../core/planning/index.ts";
import type { FitResult, NodeState, Transition } from "../../../core/policy/index.ts";
import { offAtWall, powerAtWall } from "../../../core/twin/index.ts";
import { type Instant, milliseconds } from "../../../core/units/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import type { OperatorSettings } from "../settings.ts";
import { definitions } from "./definitions.ts";

/** What happened in a longer gap is unknown. */
const MAX_GAP = milliseconds(10 * 60_000);

export class OperatorMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #series;
  #energyUntil: Instant | undefined;

  constructor(
    metrics: ProgramMetrics,
    facts: {
      readonly leading: () => boolean;
      readonly podsReadable: () => boolean;
      readonly stopped: () => boolean;
    },
  ) {
    const { nodes } = metrics;
    const density = nodes.gauge(definitions.density);
    this.#metrics = metrics;
    this.#series = {
      state: nodes.states(definitions.nodeState),
      profile: nodes.states(definitions.profileLabel),
      cpuDensity: density.column({ component: "cpu" }),
      gpuDensity: density.column({ component: "gpu" }),
      transitions: nodes.counter(definitions.transitions),
      power: nodes.gauge(definitions.power).column(),
      cappedPower: nodes.gauge(definitions.cappedPower).column(),
      uncappedPower: nodes.gauge(definitions.uncappedPower).column(),
      energy: nodes.counter(definitions.energy),
      intruders: nodes.gauge(definitions.intruders).column(),
      pendingPods: metrics.gauge(definitions.pendingPods),
      asleep: metrics.gauge(definitions.nodesAsleep),
      writeErrors: metrics.counter(definitions.writeErrors),
      writes: metrics.counter(definitions.writes),
      dropped: metrics.counter(definitions.samplesDropped),
      placed: metrics.counter(definitions.placed),
      passes: metrics.histogram(definitions.passes),
    };
    metrics.reading(definitions.leading, () => Number(facts.leading()));
    metrics.reading(definitions.stopped, () => Number(facts.stopped()));
    // An increase is only seen from a value on.
    this.#series.placed.inc({}, 0);
    metrics.reading(definitions.podsReadable, () => Number(facts.podsReadable()));
  }

  /** `intruders` is undefined while pods cannot be read; the series is then absent. */
  recordPlan({ name, managed: { shape }, status }: NodePlan, intruders: number | undefined): void {
    const row = this.#metrics.nodes.join(name);
    const { measuredNodePowerW, nodeCappedPowerW, nodeTdpW } = status.powerMeasurement ?? {};
    this.#series.power.set(row, measuredNodePowerW);
    this.#series.cappedPower.set(row, nodeCappedPowerW);
    this.#series.uncappedPower.set(row, nodeTdpW);
    this.#series.cpuDensity.set(row, shape.density.cpu);
    this.#series.gpuDensity.set(row, shape.density.gpu);
    this.#series.intruders.set(row, intruders);
  }

  recordAsleep(count: number): void {
    this.#series.asleep.set({}, count);
  }

  /** Adds the energy of all nodes since the last pass. */
  recordEnergy(nodes: Iterable<NodePlan>, at: Instant): void {
    const length = this.#energyUntil === undefined ? 0 : at - this.#energyUntil;
    this.#energyUntil = at;
    if (!(length > 0 && length <= MAX_GAP)) return;
    for (const { name, status, twin, managed } of nodes) {
      const { power: model } = managed.shape;
      const isOff = twin?.status?.power?.state === "off";
      const wall = isOff ? offAtWall(model) : powerAtWall(model, status.powerMeasurement);
      const row = this.#metrics.nodes.row(name);
      if (wall !== undefined && row !== undefined) this.#series.energy.add(row, (wall.power * length) / 1000);
    }
  }

  /** What fit_aware_v1 found for pending performance pods; undefined with other policies. */
  recordFit(fit: FitResult | undefined): void {
    if (fit === undefined) return;
    this.#series.pendingPods.set({ fit: "performance_node" }, fit.onPerformance);
    this.#series.pendingPods.set({ fit: "promotion" }, fit.onPromoted);
    this.#series.pendingPods.set({ fit: "none" }, fit.unplaced);
  }

  /** The published state of a node, from a watch or from the response to a write. */
  recordState(node: SnapshotNode, state: NodeState, settings: OperatorSettings): void {
    const row = this.#metrics.nodes.row(node.metadata.name);
    if (row === undefined) return;
    this.#series.state.set(row, state);
    const label = node.metadata.labels?.[settings.labels.powerProfile];
    this.#series.profile.set(row, label === "performance" || label === "eco" ? (label satisfies Profile) : undefined);
  }

  countTransition(name: string, { from, to, result }: Transition): void {
    const row = this.#metrics.nodes.row(name);
    if (row !== undefined) this.#series.transitions.add(row, 1, { from_state: from, to_state: to, result });
  }

  keepOnly(names: ReadonlySet<string>): void {
    this.#metrics.nodes.keepOnly(names);
  }

  countPlacedPod(): void {
    this.#series.placed.inc({});
  }

  countWrite(kind: string): void {
    this.#series.writes.inc({ kind });
  }

  countWriteError(kind: string): void {
    this.#series.writeErrors.inc({ kind });
  }

  countDroppedSamples(source: string, reasons: ReadonlyMap<string, number>): void {
    for (const [reason, count] of reasons) this.#series.dropped.inc({ source, reason }, count);
  }

  observePass(seconds: number): void {
    this.#series.passes.observe(seconds);
  }
}
