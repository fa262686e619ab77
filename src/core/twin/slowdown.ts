import type { HardwareView } from "../inventory/index.ts";
import { type DeviceModel, fittingClock, nodePowerModelOf } from "../power/index.ts";
import { type Percent, percent, percentOf, type Watts } from "../units/index.ts";
import type { EffectiveCaps } from "./caps.ts";

/**
 * How much longer compute-bound work at full load takes under the caps, on the device that is slowed most. All other work
 * takes at most that much longer: a lower load needs less power, and memory and network do not slow down.
 */
export function expectedSlowdown(hardware: HardwareView, { cpuPct, gpuPct }: EffectiveCaps): Percent {
  const { cpu, gpu } = nodePowerModelOf(hardware);
  const ofCpu = slowdownOf(cpu, percentOf(cpuPct, hardware.cpu.maxWattsPerSocket));
  const ofGpu = gpu && hardware.gpu ? slowdownOf(gpu, percentOf(gpuPct, hardware.gpu.maxWatts)) : 0;
  return percent(Math.max(ofCpu, ofGpu) * 100);
}

const slowdownOf = (device: DeviceModel, cap: Watts): number => 1 / fittingClock(device, 1, cap) - 1;
