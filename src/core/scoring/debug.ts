import type { NodeTwinStatus, SchedulableClass } from "../api/index.ts";
import type { HardwareView } from "../inventory/index.ts";
import type { Instant, Percent, Watts, WattsPerMinute } from "../units/index.ts";
import { currentHeadroom, isFresh } from "./batch.ts";
import { coolingTerm, headroomTerm, type ScoringSettings } from "./formula.ts";
import { twinStateOf } from "./twin-state.ts";

/** A node with everything that the extender knows about it. */
export interface DebuggedNode {
  readonly name: string;
  readonly twin?: NodeTwinStatus | undefined;
  readonly hardware?: HardwareView;
}

/** The entry of a node in `GET /debug/scoring`, without a pod. Unknown values are null, never 0. */
export interface DebugRow {
  readonly nodeName: string;
  readonly schedulableClass: SchedulableClass;
  /** Measured, else predicted. */
  readonly headroom: Percent | null;
  readonly coolingStress: Percent | null;
  readonly measuredPowerW: Watts | null;
  readonly cappedPowerW: Watts | null;
  readonly nodeTdpW: Watts | null;
  readonly powerTrendWPerMin: WattsPerMinute | null;
  /** The part of a score that is the same for every pod that draws nothing. */
  readonly baseScore: number | null;
  readonly cpuTotalCores: number | null;
  readonly cpuMaxWattsTotal: Watts | null;
  readonly gpuCount: number | null;
  readonly gpuMaxWattsPerGpu: Watts | null;
  readonly hasGpu: boolean | null;
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
  const twin = twinStateOf(status ?? {});
  const headroom = currentHeadroom(twin);
  const measured = status?.powerMeasurement;
  const gpuCount = hardware === undefined ? null : (hardware.gpu?.count ?? 0);
  return {
    nodeName: name,
    schedulableClass: twin.schedulableClass ?? "unknown",
    headroom: headroom ?? null,
    coolingStress: twin.coolingStress ?? null,
    measuredPowerW: measured?.measuredNodePowerW ?? null,
    cappedPowerW: measured?.nodeCappedPowerW ?? null,
    nodeTdpW: measured?.nodeTdpW ?? null,
    powerTrendWPerMin: measured?.powerTrendWPerMin ?? null,
    baseScore: headroom === undefined ? null : headroomTerm(headroom) + coolingTerm(twin.coolingStress),
    cpuTotalCores: hardware?.cpu.totalCores ?? null,
    cpuMaxWattsTotal: hardware?.cpu.maxWatts ?? null,
    gpuCount,
    gpuMaxWattsPerGpu: hardware?.gpu?.maxWatts ?? null,
    hasGpu: gpuCount === null ? null : gpuCount > 0,
    stale: !isFresh(twin, now, settings.stalenessThreshold),
  };
}
