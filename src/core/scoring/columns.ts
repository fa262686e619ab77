import { gpuResources } from "../api/index.ts";
import { type GpuNode, gpuBoardsOn, type MarginalHardware } from "../demand/index.ts";
import { currentHeadroom } from "./batch.ts";
import { coolingTerm, trendBonus } from "./formula.ts";
import type { KnownClass, TwinState } from "./twin-state.ts";

/** Class 0 means no class: no twin, or a twin without a class. */
export const NO_CLASS = 0;
export const classCodes: Readonly<Record<KnownClass, number>> = { performance: 1, eco: 2, draining: 3, asleep: 4 };
export const classesByCode: readonly (KnownClass | undefined)[] = [
  undefined,
  "performance",
  "eco",
  "draining",
  "asleep",
];

/** Resources with their own column. Requests for others (MIG slices, shared boards) are computed node by node. */
export const columnResources: readonly string[] = Object.values(gpuResources);
const oneUnit = columnResources.map((resource) => new Map([[resource, 1]]));
/** The extra column for resources that are computed node by node. */
export const perNodeColumn = columnResources.length;

const FIRST_CAPACITY = 64;
export const numberColumn = () => new Float64Array(FIRST_CAPACITY);

/** A copy of twice the length. */
function doubledColumn(column: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(column.length * 2);
  longer.set(column);
  return longer;
}

export function growColumns(table: object): void {
  for (const [name, column] of Object.entries(table))
    if (column instanceof Float64Array) Object.assign(table, { [name]: doubledColumn(column) });
}

/**
 * One typed array per value, indexed by slot. Everything that depends on neither the pod nor the time is computed when an
 * event arrives, because scores are read far more often than twins are written.
 */
export class ScoringColumns {
  /** NaN without a date: every comparison with it is false, so it is never fresh. */
  updatedAt = numberColumn();
  classCode = numberColumn();
  /** 0 if the node is not measured. */
  budget = numberColumn();
  drawn = numberColumn();
  trend = numberColumn();
  calmBonus = numberColumn();
  burstBonus = numberColumn();
  cooling = numberColumn();
  /** Without the pod; NaN if neither measured nor predicted. */
  headroom = numberColumn();
  /** The factor for the pod's watts: the PUE if facility metrics are on, else 1. */
  pue = numberColumn();
  totalCores = numberColumn();
  maxCpuWatts = numberColumn();
  gpuCount = numberColumn();
  maxGpuWatts = numberColumn();
  /** Boards per unit of each resource: 1, or less if the node slices or shares its boards. */
  boardsPerUnit = Array.from({ length: columnResources.length + 1 }, numberColumn);

  get capacity(): number {
    return this.updatedAt.length;
  }

  grow(): void {
    growColumns(this);
    this.boardsPerUnit = this.boardsPerUnit.map(doubledColumn);
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
    // Computed for one board, so that the size of the node does not hide the share of a unit.
    for (const [column, unit] of oneUnit.entries()) {
      (this.boardsPerUnit[column] as Float64Array)[slot] = gpuBoardsOn(unit, { ...gpuNode, boards: 1 });
    }
  }
}
