import type { Labels } from "../api/index.ts";
import type { GpuNode, MarginalHardware } from "../demand/index.ts";
import { fallbackCpuWatts, type HardwareView } from "../inventory/index.ts";
import { watts } from "../units/index.ts";

const usable = (value: number | undefined): number =>
  value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;

/**
 * A node's maxima as the marginal estimate wants them: of all sockets and of all boards together. 0 cores are cores of unknown
 * number; a node nothing is known about is taken for one with the least a CPU is assumed to draw.
 */
export function marginalHardwareOf(view: HardwareView | undefined): MarginalHardware {
  const boards = usable(view?.gpu?.count);
  return {
    totalCores: usable(view?.cpu.totalCores),
    maxCpuWatts: watts(usable(view === undefined ? fallbackCpuWatts(undefined) : view.cpu.maxWatts)),
    gpuCount: boards,
    maxGpuWatts: watts(Math.min(usable(view?.gpu?.maxWatts) * boards, Number.MAX_VALUE)),
  };
}

/** How a node cuts or shares its boards stands in its labels. */
export const gpuNodeOf = (view: HardwareView | undefined, labels: Labels | undefined): GpuNode => ({
  boards: usable(view?.gpu?.count),
  labels,
  model: view?.gpu?.model,
});
