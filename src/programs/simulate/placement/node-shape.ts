import { type Watts, watts } from "../../../core/units/index.ts";

/** A kind of machine in the terms of the published experiment. */
export interface MachineShape {
  readonly cores: number;
  /** Of all packages. */
  readonly cpuWatts: Watts;
  readonly gpus: number;
  /** Of one board. */
  readonly gpuWatts: Watts;
  readonly peakWatts: Watts;
}

export const nodeShape = (cores: number, cpuWatts: number, gpus: number, gpuWatts: number): MachineShape => ({
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
export function expectedAddedWatts(shape: MachineShape, cores: number, gpus: number, performance: boolean): number {
  const cpu = shape.cpuWatts * WORK_SHARE * Math.min(1, cores / shape.cores);
  return shape.gpus > 0 ? cpu + gpus * shape.gpuWatts * gpuShare(performance) : cpu;
}
