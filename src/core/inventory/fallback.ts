import type { GpuVendor } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { BUILTIN_CPUS } from "./builtin.ts";

/** What anything unknown is taken to draw at most (CONTRACT 6.22): per node for CPUs, per board for GPUs. */
export const fallbackCpuWatts = (cores: number | undefined): Watts => watts(Math.max(150, 3.5 * (cores ?? 0)));
export const fallbackGpuWatts = (vendor: GpuVendor | undefined): Watts => watts(vendor === "amd" ? 400 : 350);

/** Mean of idle over full power in the Cloud Carbon Footprint coefficients: 0.74 of 3.5 W per vCPU. */
export const FALLBACK_CPU_IDLE_SHARE = 0.21;

/** What the boards with a published idle reading do: 79 of 700 W, 62 of 400 W. */
export const FALLBACK_GPU_IDLE_SHARE = 0.12;

/** As slow as the slowest CPU known, so that an unknown node never comes before the same node once it is known. */
export const FALLBACK_BASE_GHZ = Math.min(...BUILTIN_CPUS.map(({ baseGHz }) => baseGHz.value));
