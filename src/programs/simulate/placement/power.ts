import type { MachineShape } from "./node-shape.ts";

/** Additional CPU power at full utilization, as a share of CPU watts. */
export const WORK_SHARE = 0.7;
export const gpuShare = (performance: boolean): number => (performance ? 0.85 : 0.65);

/** Power that a scheduler expects a job to add, from its request. */
export function marginalWatts(shape: MachineShape, cores: number, gpus: number, performance: boolean): number {
  const cpu = shape.cpuWatts * WORK_SHARE * Math.min(1, cores / shape.cores);
  return shape.gpus > 0 ? cpu + gpus * shape.gpuWatts * gpuShare(performance) : cpu;
}
