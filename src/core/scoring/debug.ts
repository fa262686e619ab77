import type { NodeTwinStatus, SchedulableClass } from "../api/index.ts";
import type { HardwareView } from "../inventory/index.ts";
import type { Instant, Percent, Watts, WattsPerMinute } from "../units/index.ts";
import { currentHeadroom, isFresh } from "./batch.ts";
import { coolingTerm, headroomTerm } from "./formula.ts";
import type { ScoringSettings } from "./settings.ts";
import { readTwin } from "./twin-state.ts";

/** A node with everything that the extender knows about it. */
export interface DebuggedNode {
  readonly name: string;
  readonly twin?: NodeTwinStatus | undefined;
  readonly hardware?: HardwareView | undefined;
}

/** The entry of a node in `GET /debug/scoring`, without a pod. Unknown values are omitted from the JSON and are not 0. */
export interface DebugRow {
  readonly nodeName: string;
  readonly schedulableClass: SchedulableClass;
  /** Measured, else predicted. */
  readonly headroom: Percent | undefined;
  readonly coolingStress: Percent | undefined;
  readonly measuredPowerW: Watts | undefined;
  readonly cappedPowerW: Watts | undefined;
  readonly nodeTdpW: Watts | undefined;
  readonly powerTrendWPerMin: WattsPerMinute | undefined;
  /** The part of a score that is the same for every pod that draws nothing. */
  readonly baseScore: number | undefined;
  readonly cpuTotalCores: number | undefined;
  readonly cpuMaxWattsTotal: Watts | undefined;
  readonly gpuCount: number;
  readonly gpuMaxWattsPerGpu: Watts | undefined;
  readonly hasGpu: boolean;
  /** Stale nodes score 50, whatever the other values are. */
  readonly stale: boolean;
}

export interface DebugReport {
  readonly coefficients: {
    readonly cpuUtilCoeff: number;
    readonly gpuUtilCoeffStandard: number;
    readonly gpuUtilCoeffPerformance: number;
  };
  readonly nodes: readonly DebugRow[];
}

export function debugReport(nodes: Iterable<DebuggedNode>, now: Instant, settings: ScoringSettings): DebugReport {
  const { cpu, gpuStandard, gpuPerformance } = settings.coefficients;
  return {
    coefficients: { cpuUtilCoeff: cpu, gpuUtilCoeffStandard: gpuStandard, gpuUtilCoeffPerformance: gpuPerformance },
    nodes: Array.from(nodes, (node) => debugRow(node, now, settings)),
  };
}

function debugRow({ name, twin: status, hardware }: DebuggedNode, now: Instant, settings: ScoringSettings): DebugRow {
  const twin = readTwin(status ?? {});
  const headroom = currentHeadroom(twin);
  const measured = status?.powerMeasurement;
  return {
    nodeName: name,
    schedulableClass: twin.schedulableClass ?? "unknown",
    headroom,
    coolingStress: twin.coolingStress,
    measuredPowerW: measured?.measuredNodePowerW,
    cappedPowerW: measured?.nodeCappedPowerW,
    nodeTdpW: measured?.nodeTdpW,
    powerTrendWPerMin: measured?.powerTrendWPerMin,
    baseScore: headroom === undefined ? undefined : headroomTerm(headroom) + coolingTerm(twin.coolingStress),
    cpuTotalCores: hardware?.cpu.totalCores,
    cpuMaxWattsTotal: hardware?.cpu.maxWatts,
    gpuCount: hardware?.gpu?.count ?? 0,
    gpuMaxWattsPerGpu: hardware?.gpu?.maxWatts,
    hasGpu: (hardware?.gpu?.count ?? 0) > 0,
    stale: !isFresh(twin, now, settings.stalenessThreshold),
  };
}
