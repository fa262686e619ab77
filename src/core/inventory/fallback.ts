import type { GpuVendor } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";

/** What anything unknown is taken to draw at most (CONTRACT 6.22): per node for CPUs, per board for GPUs. */
export const fallbackCpuWatts = (cores: number | undefined): Watts => watts(Math.max(150, 3.5 * (cores ?? 0)));
export const fallbackGpuWatts = (vendor: GpuVendor | undefined): Watts => watts(vendor === "amd" ? 400 : 350);

/** Mean of idle over full power in the Cloud Carbon Footprint coefficients: 0.74 of 3.5 W per vCPU. */
export const FALLBACK_CPU_IDLE_SHARE = 0.21;

/** What the boards with a published idle reading do: 79 of 700 W, 62 of 400 W. */
export const FALLBACK_GPU_IDLE_SHARE = 0.12;

/** No server CPU sold today has a base clock much below this, so it never puts an unknown node before a known one. */
export const FALLBACK_BASE_GHZ = 2;
