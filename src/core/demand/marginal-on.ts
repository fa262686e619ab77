import type { Labels } from "../api/index.ts";
import { fallbackCpuWatts, type HardwareView } from "../inventory/index.ts";
import { isPositive, watts } from "../units/index.ts";
import { type GpuNode, gpuBoardsOn } from "./gpu-boards.ts";
import { type MarginalCoefficients, type MarginalHardware, type MarginalWatts, marginalWatts } from "./marginal.ts";
import type { PodSummary } from "./pod-summary.ts";

/** What the watts of a pod depend on beside the pod. */
export interface MarginalNode {
  readonly hardware?: HardwareView | undefined;
  readonly labels?: Labels | undefined;
}

type DrawingPod = Pick<PodSummary, "demand" | "workloadClass">;

/** The watts a pod adds to this node. */
export const marginalWattsOn = (
  pod: DrawingPod,
  { hardware, labels }: MarginalNode,
  coefficients: MarginalCoefficients,
): MarginalWatts => marginalOf(pod, marginalHardwareOf(hardware), gpuNodeOf(hardware, labels), coefficients);

/** The watts the pods bound to a node add to it together. More than its caps allow is for the caps to say. */
export function boundWattsOn(
  pods: Iterable<DrawingPod>,
  { hardware, labels }: MarginalNode,
  coefficients: MarginalCoefficients,
): MarginalWatts {
  const maxima = marginalHardwareOf(hardware);
  const gpuNode = gpuNodeOf(hardware, labels);
  let cpu = 0;
  let gpu = 0;
  for (const pod of pods) {
    const added = marginalOf(pod, maxima, gpuNode, coefficients);
    cpu = atMostFinite(cpu + added.cpu);
    gpu = atMostFinite(gpu + added.gpu);
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
 * A node's maxima as the marginal estimate wants them: of all sockets and of all boards together. 0 cores are cores of unknown
 * number; a node nothing is known about is taken for one with the least a CPU is assumed to draw.
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

/** How a node cuts or shares its boards stands in its labels, how many dies a board has in the catalogue. */
export const gpuNodeOf = (view: HardwareView | undefined, labels: Labels | undefined): GpuNode => ({
  boards: orZero(view?.gpu?.count),
  labels,
  model: view?.gpu?.model,
  devicesPerBoard: view?.gpu?.devicesPerBoard,
});

const orZero = (value: number | undefined): number => (isPositive(value) ? value : 0);

const atMostFinite = (value: number): number => Math.min(value, Number.MAX_VALUE);
