import { gpuResources } from "../api/index.ts";
import { type GpuNode, gpuBoardsOn, type MarginalHardware } from "../demand/index.ts";
import { currentHeadroom } from "./batch.ts";
import { coolingTerm, trendBonus } from "./formula.ts";
import type { KnownClass, TwinState } from "./twin-state.ts";

/** Class 0 is none: no twin, or one that names no class. */
export const NO_CLASS = 0;
export const classCodes: Readonly<Record<KnownClass, number>> = { performance: 1, eco: 2, draining: 3 };
export const classesByCode: readonly (KnownClass | undefined)[] = [undefined, "performance", "eco", "draining"];

/** Resources whose units get a column; requests for any other (MIG slices, shared boards) are worked out node by node. */
export const columnResources: readonly string[] = Object.values(gpuResources);
const oneUnit = columnResources.map((resource) => new Map([[resource, 1]]));
/** One column more, for what had to be asked of each node. */
export const perNodeColumn = columnResources.length;

const FIRST_CAPACITY = 64;
const numbers = () => new Float64Array(FIRST_CAPACITY);

/** Twice as long, with the same beginning. */
function doubled(column: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(column.length * 2);
  longer.set(column);
  return longer;
}

/**
 * One typed array per figure and one place per slot. Whatever neither the pod nor the moment can change is worked out when an
 * event writes it: scores are read far more often than twins are written.
 */
export class ScoringColumns {
  /** NaN where there is no date: no comparison with it holds, so it is never fresh. */
  updatedAt = numbers();
  classCode = numbers();
  /** 0 where the node is unmeasured. */
  budget = numbers();
  drawn = numbers();
  trend = numbers();
  calmBonus = numbers();
  burstBonus = numbers();
  cooling = numbers();
  /** Before the pod comes; NaN where it is neither measured nor predicted. */
  headroom = numbers();
  /** The factor on the pod's watts: 1 unless facility metrics are on and the site needs more. */
  pue = numbers();
  totalCores = numbers();
  maxCpuWatts = numbers();
  gpuCount = numbers();
  maxGpuWatts = numbers();
  /** Boards one unit of each resource stands for: 1, or less where the node cuts or shares its boards. */
  boardsPerUnit = Array.from({ length: columnResources.length + 1 }, numbers);

  get capacity(): number {
    return this.updatedAt.length;
  }

  grow(): void {
    this.updatedAt = doubled(this.updatedAt);
    this.classCode = doubled(this.classCode);
    this.budget = doubled(this.budget);
    this.drawn = doubled(this.drawn);
    this.trend = doubled(this.trend);
    this.calmBonus = doubled(this.calmBonus);
    this.burstBonus = doubled(this.burstBonus);
    this.cooling = doubled(this.cooling);
    this.headroom = doubled(this.headroom);
    this.pue = doubled(this.pue);
    this.totalCores = doubled(this.totalCores);
    this.maxCpuWatts = doubled(this.maxCpuWatts);
    this.gpuCount = doubled(this.gpuCount);
    this.maxGpuWatts = doubled(this.maxGpuWatts);
    this.boardsPerUnit = this.boardsPerUnit.map(doubled);
  }

  writeTwin(slot: number, twin: TwinState | undefined, facilityMetrics: boolean): void {
    const { power } = twin ?? {};
    this.updatedAt[slot] = twin?.updatedAt ?? Number.NaN;
    this.classCode[slot] = twin?.schedulableClass === undefined ? NO_CLASS : classCodes[twin.schedulableClass];
    this.budget[slot] = power?.budget ?? 0;
    this.drawn[slot] = power?.drawn ?? 0;
    this.trend[slot] = power?.trend ?? 0;
    this.calmBonus[slot] = power === undefined ? 0 : trendBonus(power.trend, false);
    this.burstBonus[slot] = power === undefined ? 0 : trendBonus(power.trend, true);
    this.cooling[slot] = coolingTerm(twin?.coolingStress);
    this.headroom[slot] = (twin && currentHeadroom(twin)) ?? Number.NaN;
    this.pue[slot] = facilityMetrics ? Math.max(1, twin?.pue ?? 1) : 1;
  }

  writeHardware(slot: number, hardware: MarginalHardware, gpuNode: GpuNode): void {
    this.totalCores[slot] = hardware.totalCores;
    this.maxCpuWatts[slot] = hardware.maxCpuWatts;
    this.gpuCount[slot] = hardware.gpuCount;
    this.maxGpuWatts[slot] = hardware.maxGpuWatts;
    // Asked of one board, so that the node's size does not hide what a unit is.
    for (const [column, unit] of oneUnit.entries()) {
      (this.boardsPerUnit[column] as Float64Array)[slot] = gpuBoardsOn(unit, { ...gpuNode, boards: 1 });
    }
  }
}
