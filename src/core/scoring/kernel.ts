import { gpuBoardsOn, type PodDemand, type WorkloadClass } from "../demand/index.ts";
import { type Instant, instant, type Percent, percent, type Watts, wattsPerMinute } from "../units/index.ts";
import { type Batch, isFreshAt } from "./batch.ts";
import { classCodes, classesByCode, columnResources, NO_CLASS, perNodeColumn } from "./columns.ts";
import { type RejectionCode, rejectionCode } from "./filter.ts";
import {
  clampScore,
  drainingPenalty,
  headroomScore,
  headroomTerm,
  isBurst,
  NEUTRAL_SCORE,
  perfPressure,
  pressureRelief,
  profileBonus,
  publishedScore,
  type ScoringSettings,
} from "./formula.ts";
import { ScoringNodeTable } from "./node-table.ts";
import type { KnownClass } from "./twin-state.ts";

/**
 * Computes the oracle's scores with typed arrays: one column per value, an event writes one slot, and a request reads the
 * columns. Every floating-point step is the same as in the oracle and in the same order, so that the scores are equal.
 * Multiplying the pod with one slope per node would be faster, but sometimes off by a point.
 */
export class ScoringKernel extends ScoringNodeTable {
  readonly #settings: ScoringSettings;
  readonly #neutral: number;
  // Before the first batch no twin is fresh.
  #batch: Batch = { now: instant(Number.NaN), clusterTrend: wattsPerMinute(0), perfPressure: percent(0) };
  /** Bonus, relief and penalty by class code; a node has at most one of them. */
  readonly #points: Readonly<Record<WorkloadClass, Float64Array>> = {
    standard: new Float64Array(classesByCode.length),
    performance: new Float64Array(classesByCode.length),
  };

  constructor(settings: ScoringSettings) {
    super(settings.facilityMetrics);
    this.#settings = settings;
    this.#neutral = publishedScore(NEUTRAL_SCORE, settings.scoreMax);
  }

  /** The cluster state of the current batch; with it the oracle can explain a score of this kernel. */
  get batch(): Batch {
    return this.#batch;
  }

  /** Computes the cluster state once; the following scores use it. Sums run in slot order. */
  beginBatch(now: Instant): Batch {
    const { updatedAt, classCode, trend, headroom } = this.columns;
    const { stalenessThreshold } = this.#settings;
    let clusterTrend = 0;
    let congestion = 0;
    let nodes = 0;
    for (let slot = 0; slot < this.end; slot++) {
      if (!isFreshAt(now - (updatedAt[slot] as number), stalenessThreshold)) continue;
      clusterTrend += trend[slot] as number;
      const room = headroom[slot] as number;
      if (classCode[slot] !== classCodes.performance || Number.isNaN(room)) continue;
      congestion += 100 - room;
      nodes++;
    }
    this.#batch = { now, clusterTrend: wattsPerMinute(clusterTrend), perfPressure: perfPressure(congestion, nodes) };
    this.#settlePoints();
    return this.#batch;
  }

  /** 0 if the pod may run there, else the index of the reason in `rejections`. */
  filter(slot: number, workloadClass: WorkloadClass): RejectionCode {
    return rejectionCode(
      workloadClass,
      classesByCode[this.columns.classCode[slot] ?? NO_CLASS],
      this.labelOn(slot, this.#settings.nodeLabels.powerProfile),
      this.labelOn(slot, this.#settings.nodeLabels.draining),
    );
  }

  /**
   * Writes the score of each slot to the same index of `out`; slot -1 is an unknown node. Allocates nothing, unless the pod
   * requests GPU slices or two types of GPU, whose number of boards is computed node by node.
   */
  scoreMany(slots: Int32Array, demand: PodDemand, workloadClass: WorkloadClass, out: Int16Array): void {
    const { updatedAt, classCode, budget, drawn, cooling, calmBonus, burstBonus, headroom, pue } = this.columns;
    const { totalCores, maxCpuWatts, gpuCount, maxGpuWatts } = this.columns;
    const { stalenessThreshold, coefficients, scoreMax } = this.#settings;
    const { now, clusterTrend } = this.#batch;
    const trendPoints = isBurst(clusterTrend) ? burstBonus : calmBonus;
    const classPoints = this.#points[workloadClass];
    const gpuCoefficient = workloadClass === "performance" ? coefficients.gpuPerformance : coefficients.gpuStandard;
    const { cpuCores, gpus } = demand;
    const withGpus = gpus.size > 0;
    const { units, boardsPerUnit } = this.boardsOf(slots, gpus);

    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i] as number;
      const code = slot < 0 ? NO_CLASS : (classCode[slot] as number);
      if (code === NO_CLASS || !isFreshAt(now - (updatedAt[slot] as number), stalenessThreshold)) {
        out[i] = this.#neutral;
        continue;
      }
      let room = headroom[slot] as Percent;
      const cap = budget[slot] as Watts;
      if (cap > 0) {
        const cpu = coefficients.cpu * shareOf(cpuCores, totalCores[slot] as number) * (maxCpuWatts[slot] as number);
        let gpu = 0;
        if (withGpus) {
          const boards = Math.min(units * (boardsPerUnit[slot] as number), gpuCount[slot] as number);
          gpu = gpuCoefficient * shareOf(boards, gpuCount[slot] as number) * (maxGpuWatts[slot] as number);
        }
        const factor = pue[slot] as number;
        const added = Math.min(cpu * factor + gpu * factor, Number.MAX_VALUE) as Watts;
        room = headroomScore(cap, drawn[slot] as Watts, added);
      }
      const raw =
        headroomTerm(room) + (cooling[slot] as number) + (trendPoints[slot] as number) + (classPoints[code] as number);
      out[i] = Number.isNaN(raw) ? this.#neutral : publishedScore(clampScore(raw), scoreMax);
    }
  }

  /** A pod needs `units · boardsPerUnit[slot]` boards of a slot, and never more than the node has. */
  protected boardsOf(slots: Int32Array, gpus: PodDemand["gpus"]): { units: number; boardsPerUnit: Float64Array } {
    const column = columnOf(gpus);
    if (gpus.size > 0 && column === perNodeColumn) this.#askNodes(slots, gpus);
    const units = gpus.get(columnResources[column] ?? "") ?? 1;
    return { units, boardsPerUnit: this.columns.boardsPerUnit[column] as Float64Array };
  }

  /** Fills the extra column that the scoring loop reads. A function call inside that loop would cost most of its speed. */
  #askNodes(slots: Int32Array, gpus: PodDemand["gpus"]): void {
    const asked = this.columns.boardsPerUnit[perNodeColumn] as Float64Array;
    for (const slot of slots) if (slot >= 0) asked[slot] = Number.NaN;
    // A node that occurs several times is computed once.
    for (const slot of slots) {
      if (slot >= 0 && Number.isNaN(asked[slot])) asked[slot] = gpuBoardsOn(gpus, this.gpuNode(slot));
    }
  }

  #settlePoints(): void {
    const { perfPressure: pressure } = this.#batch;
    for (const [workload, points] of Object.entries(this.#points) as [WorkloadClass, Float64Array][]) {
      for (const [node, code] of Object.entries(classCodes) as [KnownClass, number][]) {
        points[code] =
          profileBonus(workload, node) +
          pressureRelief(workload, node, pressure) +
          drainingPenalty(workload, node, this.#settings.drainingPenalty);
      }
    }
  }
}

function columnOf(gpus: PodDemand["gpus"]): number {
  if (gpus.size > 1) return perNodeColumn;
  for (let column = 0; column < columnResources.length; column++) {
    if (gpus.has(columnResources[column] as string)) return column;
  }
  return perNodeColumn;
}

/** As in the marginal estimate: at most the whole device, and the whole device if its size is unknown. */
function shareOf(asked: number, available: number): number {
  if (!(asked > 0)) return 0;
  return available > asked ? asked / available : 1;
}
