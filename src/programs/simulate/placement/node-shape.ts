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
