import type { HardwareView } from "../inventory/index.ts";
import { type Watts, watts } from "../units/index.ts";

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

/**
 * The maximum power of the node without caps. A node without GPUs has 0 W of GPU power. Implausible values make the result
 * undefined.
 */
export function maxPowerOf({ cpu, gpu }: PowerEnvelope): DevicePower | undefined {
  const cpuMax = cpu.sockets * cpu.maxWattsPerSocket;
  const gpuMax = gpu === undefined ? 0 : gpu.count * gpu.maxWatts;
  const known = cpuMax >= 0 && gpuMax >= 0 && Number.isFinite(cpuMax + gpuMax);
  return known ? { cpu: watts(cpuMax), gpu: watts(gpuMax) } : undefined;
}
