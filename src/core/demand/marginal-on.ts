import type { Labels } from "../api/index.ts";
import { fallbackCpuWatts, type HardwareView } from "../inventory/index.ts";
import { isPositive, watts } from "../units/index.ts";
import { type GpuNode, gpuBoardsOn } from "./gpu-boards.ts";
import {
  type MarginalCoefficients,
  type MarginalHardware,
  type MarginalWatts,
  marginalCpuWatts,
  marginalGpuWatts,
  marginalWatts,
} from "./marginal.ts";
import type { PodSummary } from "./pod-summary.ts";

/** The node properties that determine the watts of a pod. */
export interface MarginalNode {
  readonly hardware?: HardwareView | undefined;
  readonly labels?: Labels | undefined;
}

type DrawingPod = Pick<PodSummary, "demand" | "workloadClass">;

/** The watts that a pod adds to this node. */
export const marginalWattsOn = (
  pod: DrawingPod,
  { hardware, labels }: MarginalNode,
  coefficients: MarginalCoefficients,
): MarginalWatts => marginalOf(pod, marginalHardwareOf(hardware), gpuNodeOf(hardware, labels), coefficients);

/** The watts that the pods bound to a node add together. The sum may exceed the caps. */
export function boundWattsOn(
  pods: Iterable<DrawingPod>,
  { hardware, labels }: MarginalNode,
  coefficients: MarginalCoefficients,
): MarginalWatts {
  const maxima = marginalHardwareOf(hardware);
  const gpuNode = gpuNodeOf(hardware, labels);
  let cpu = 0;
  let gpu = 0;
  for (const { demand, workloadClass } of pods) {
    cpu = atMostFinite(cpu + marginalCpuWatts(demand.cpuCores, maxima, coefficients));
    if (demand.gpus.size === 0) continue;
    const boards = gpuBoardsOn(demand.gpus, gpuNode);
    gpu = atMostFinite(gpu + marginalGpuWatts(boards, maxima, coefficients, workloadClass));
  }
  return { cpu: watts(cpu), gpu: watts(gpu), total: watts(atMostFinite(cpu + gpu)) };
}

const marginalOf = (
  { demand, workloadClass }: DrawingPod,
  maxima: MarginalHardware,
  gpuNode: GpuNode,
  coefficients: MarginalCoefficients,
): MarginalWatts =>
  marginalWatts(
    { cpuCores: demand.cpuCores, gpuBoards: gpuBoardsOn(demand.gpus, gpuNode) },
    maxima,
    coefficients,
    workloadClass,
  );

/**
 * The maximum power of a node for the marginal estimate: all sockets and all boards together. 0 cores means an unknown
 * number of cores. A node without any information gets the lowest power that is assumed for a CPU.
 */
export function marginalHardwareOf(view: HardwareView | undefined): MarginalHardware {
  const boards = orZero(view?.gpu?.count);
  return {
    totalCores: orZero(view?.cpu.totalCores),
    maxCpuWatts: watts(orZero(view === undefined ? fallbackCpuWatts(undefined) : view.cpu.maxWatts)),
    gpuCount: boards,
    maxGpuWatts: watts(atMostFinite(orZero(view?.gpu?.maxWatts) * boards)),
  };
}

/** The labels describe how a node slices or shares its boards; the catalogue has the number of dies per board. */
export const gpuNodeOf = (view: HardwareView | undefined, labels: Labels | undefined): GpuNode => ({
  boards: orZero(view?.gpu?.count),
  labels,
  model: view?.gpu?.model,
  devicesPerBoard: view?.gpu?.devicesPerBoard,
});

const orZero = (value: number | undefined): number => (isPositive(value) ? value : 0);

const atMostFinite = (value: number): number => Math.min(value, Number.MAX_VALUE);
