import { type Watts, watts } from "../../src/core/units/index.ts";
import type { MachineShape } from "../../src/programs/simulate/placement/job-kinds.ts";

/** A kind of machine in the terms of the published experiment. */
export interface PublishedShape extends MachineShape {
  readonly peakWatts: Watts;
}

export const nodeShape = (cores: number, cpuWatts: number, gpus: number, gpuWatts: number): PublishedShape => ({
  cores,
  cpuWatts: watts(cpuWatts),
  gpus,
  gpuWatts: watts(gpuWatts),
  peakWatts: watts(cpuWatts + gpus * gpuWatts),
});

/** Additional CPU power at full utilization, as a share of CPU watts. */
export const WORK_SHARE = 0.7;
export const gpuShare = (performance: boolean): number => (performance ? 0.85 : 0.65);

/** Power that a scheduler expects a job to add, from its request. */
export function expectedAddedWatts(shape: PublishedShape, cores: number, gpus: number, performance: boolean): number {
  const cpu = shape.cpuWatts * WORK_SHARE * Math.min(1, cores / shape.cores);
  return shape.gpus > 0 ? cpu + gpus * shape.gpuWatts * gpuShare(performance) : cpu;
}
