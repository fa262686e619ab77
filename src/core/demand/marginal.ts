import { type Watts, watts } from "../units/index.ts";
import type { WorkloadClass } from "./workload-class.ts";

/** The share of its request's power a pod is expected to draw. */
export interface MarginalCoefficients {
  readonly cpu: number;
  readonly gpuStandard: number;
  readonly gpuPerformance: number;
}

/** What a pod asks of one node; boards may be parts of one. */
export interface NodeDemand {
  readonly cpuCores: number;
  readonly gpuBoards: number;
}

/** The whole node: maxima of all sockets and of all boards together. */
export interface MarginalHardware {
  readonly totalCores: number;
  readonly maxCpuWatts: Watts;
  readonly gpuCount: number;
  readonly maxGpuWatts: Watts;
}

export interface MarginalWatts {
  readonly cpu: Watts;
  readonly gpu: Watts;
  readonly total: Watts;
}

/** The watts a pod adds to a node: coefficient × its share of the device × the device's maximum. */
export function marginalWatts(
  demand: NodeDemand,
  hardware: MarginalHardware,
  coefficients: MarginalCoefficients,
  workloadClass: WorkloadClass,
): MarginalWatts {
  const gpuCoefficient = workloadClass === "performance" ? coefficients.gpuPerformance : coefficients.gpuStandard;
  return power(
    coefficients.cpu * shareOf(demand.cpuCores, hardware.totalCores) * hardware.maxCpuWatts,
    gpuCoefficient * shareOf(demand.gpuBoards, hardware.gpuCount) * hardware.maxGpuWatts,
  );
}

/** Cooling what the pod draws costs power as well, where facility metrics are on and say how much. */
export function pueWeighted(marginal: MarginalWatts, pue: number | undefined, enabled: boolean): MarginalWatts {
  return enabled && pue !== undefined && pue > 1 ? power(marginal.cpu * pue, marginal.gpu * pue) : marginal;
}

/**
 * At most 1: a limit may name more cores than the node has, but nobody draws more than all of them. Part of a device of
 * unknown or no size is all of it, so that such a node never looks like the cheapest.
 */
function shareOf(asked: number, available: number): number {
  if (!(asked > 0)) return 0;
  return available > asked ? asked / available : 1;
}

const power = (cpu: number, gpu: number): MarginalWatts => ({
  cpu: defined(cpu),
  gpu: defined(gpu),
  total: defined(defined(cpu) + defined(gpu)),
});

/** Watts that cannot be computed add nothing; JSON knows no Infinity. */
const defined = (value: number): Watts => watts(value > 0 ? Math.min(value, Number.MAX_VALUE) : 0);
