import type { HardwareView } from "../inventory/index.ts";
import { type Watts, watts } from "../units/index.ts";

/** What a prediction has to know of the hardware; inventory's view of a node is one. */
export interface PowerEnvelope {
  readonly cpu: Pick<HardwareView["cpu"], "sockets" | "maxWattsPerSocket">;
  /** Absent, or a count of 0, on a node without GPUs. */
  readonly gpu?: Pick<NonNullable<HardwareView["gpu"]>, "count" | "maxWatts"> | undefined;
}

/** Power of all CPUs and of all GPUs. */
export interface DevicePower {
  readonly cpu: Watts;
  readonly gpu: Watts;
}

/**
 * What the node draws at most, uncapped. Without GPUs it has 0 W of them, which is a fact and not a gap; figures that no
 * device can have leave it unknown.
 */
export function maxPowerOf({ cpu, gpu }: PowerEnvelope): DevicePower | undefined {
  const cpuMax = cpu.sockets * cpu.maxWattsPerSocket;
  const gpuMax = gpu === undefined ? 0 : gpu.count * gpu.maxWatts;
  const known = cpuMax >= 0 && gpuMax >= 0 && Number.isFinite(cpuMax + gpuMax);
  return known ? { cpu: watts(cpuMax), gpu: watts(gpuMax) } : undefined;
}
