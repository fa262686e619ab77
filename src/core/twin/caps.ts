import type { NodeTwinSpec } from "../api/index.ts";
import { type HardwareView, packageCapFloor } from "../inventory/index.ts";
import { type DeviceModel, fittingClock, nodePowerModelOf } from "../power/index.ts";
import { isNonNegative, isPositive, type Percent, percent, percentOf, type Watts, watts } from "../units/index.ts";

/** The caps in percent of the maximum, for predictions and effectiveCapState; 100 means uncapped. */
export interface EffectiveCaps {
  readonly cpuPct: Percent;
  readonly gpuPct: Percent;
}

const UNCAPPED = percent(100);

/** Whether predictions can use the value and the API accepts it. */
export const isPercentage = (pct: Percent): boolean => isNonNegative(pct) && pct <= UNCAPPED;

/**
 * Watts take precedence over a percentage, as in the agent, and are converted to percent of the maximum. The agent sets no cap
 * below the minimum of a device, so none is predicted.
 */
export function effectiveCaps(spec: Pick<NodeTwinSpec, "cpu" | "gpu">, { cpu, gpu }: PowerEnvelope): EffectiveCaps {
  const cap = spec.gpu?.powerCap;
  const ofPackage = { max: cpu.maxWattsPerSocket, min: packageCapFloor(cpu) };
  return {
    cpuPct: capShare(spec.cpu?.packagePowerCapWatts, spec.cpu?.packagePowerCapPctOfMax, ofPackage),
    // Without GPUs a GPU cap has no effect.
    gpuPct:
      gpu !== undefined && gpu.count > 0
        ? capShare(cap?.capWattsPerGpu, cap?.capPctOfMax, { max: gpu.maxWatts, min: gpu.minWatts })
        : UNCAPPED,
  };
}

interface CapRange {
  readonly max: Watts;
  readonly min: Watts | undefined;
}

function capShare(capWatts: Watts | undefined, pctOfMax: Percent | undefined, { max, min }: CapRange): Percent {
  const asked = isPositive(capWatts) && isPositive(max) ? (capWatts * 100) / max : pctOfMax;
  if (!isPositive(asked)) return UNCAPPED;
  const least = isPositive(min) && isPositive(max) ? (min * 100) / max : 0;
  return percent(Math.min(UNCAPPED, Math.max(asked, least)));
}

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

/** The hardware properties that predictions need; a HardwareView has them. */
export interface PowerEnvelope {
  readonly cpu: Pick<HardwareView["cpu"], "sockets" | "maxWattsPerSocket" | "minWattsPerSocket">;
  /** Absent, or a count of 0, on a node without GPUs. */
  readonly gpu?:
    | (Pick<NonNullable<HardwareView["gpu"]>, "count" | "maxWatts"> & { readonly minWatts?: Watts | undefined })
    | undefined;
}

/** Power of all CPUs and of all GPUs. */
export interface DevicePower {
  readonly cpu: Watts;
  readonly gpu: Watts;
}

/** The maximum power without caps; undefined for implausible values. */
export function maxPowerOf({ cpu, gpu }: PowerEnvelope): DevicePower | undefined {
  const cpuMax = cpu.sockets * cpu.maxWattsPerSocket;
  const gpuMax = gpu === undefined ? 0 : gpu.count * gpu.maxWatts;
  const known = cpuMax >= 0 && gpuMax >= 0 && Number.isFinite(cpuMax + gpuMax);
  return known ? { cpu: watts(cpuMax), gpu: watts(gpuMax) } : undefined;
}
