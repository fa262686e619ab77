import { type Watts, watts } from "../units/index.ts";
import type { WorkloadClass } from "./pod-annotations.ts";

/** The share of the requested devices' power that a pod is expected to draw. */
export interface MarginalCoefficients {
  readonly cpu: number;
  readonly gpuStandard: number;
  readonly gpuPerformance: number;
}

/** The resources that a pod uses on one node; boards may be fractional. */
export interface NodeDemand {
  readonly cpuCores: number;
  readonly gpuBoards: number;
}

/** The maximum power of the whole node: all sockets and all boards together. */
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

/** The watts that a pod adds to a node: coefficient × share of the device × maximum power of the device. */
export function marginalWatts(
  demand: NodeDemand,
  hardware: MarginalHardware,
  coefficients: MarginalCoefficients,
  workloadClass: WorkloadClass,
): MarginalWatts {
  return power(
    marginalCpuWatts(demand.cpuCores, hardware, coefficients),
    marginalGpuWatts(demand.gpuBoards, hardware, coefficients, workloadClass),
  );
}

export const marginalCpuWatts = (
  cores: number,
  { totalCores, maxCpuWatts }: MarginalHardware,
  coefficients: MarginalCoefficients,
): Watts => defined(coefficients.cpu * shareOf(cores, totalCores) * maxCpuWatts);

export function marginalGpuWatts(
  boards: number,
  { gpuCount, maxGpuWatts }: MarginalHardware,
  coefficients: MarginalCoefficients,
  workloadClass: WorkloadClass,
): Watts {
  const coefficient = workloadClass === "performance" ? coefficients.gpuPerformance : coefficients.gpuStandard;
  return defined(coefficient * shareOf(boards, gpuCount) * maxGpuWatts);
}

/** Multiplies with the PUE, if facility metrics are on and the PUE is known: cooling costs power too. */
export function pueWeighted(marginal: MarginalWatts, pue: number | undefined, enabled: boolean): MarginalWatts {
  return enabled && pue !== undefined && pue > 1 ? power(marginal.cpu * pue, marginal.gpu * pue) : marginal;
}

/**
 * At most 1: a limit may exceed the node's cores, but a pod cannot use more than all of them. Any part of a device of
 * unknown or zero size counts as the whole device, so that such a node never looks cheapest.
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

/** Values that are not finite count as 0 W; JSON has no Infinity. */
const defined = (value: number): Watts => watts(value > 0 ? Math.min(value, Number.MAX_VALUE) : 0);
