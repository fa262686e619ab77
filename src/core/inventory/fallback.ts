import type { GpuVendor } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { BUILTIN_CPUS } from "./builtin.ts";

/** The assumed maximum power of unknown hardware (CONTRACT 6.22): per node for CPUs, per board for GPUs. */
export const fallbackCpuWatts = (cores: number | undefined): Watts => watts(Math.max(150, 3.5 * (cores ?? 0)));
export const fallbackGpuWatts = (vendor: GpuVendor | undefined): Watts => watts(vendor === "amd" ? 400 : 350);

/** Mean ratio of idle to full power in the Cloud Carbon Footprint coefficients: 0.74 of 3.5 W per vCPU. */
export const FALLBACK_CPU_IDLE_SHARE = 0.21;

/** From the boards with a published idle measurement: 79 of 700 W, 62 of 400 W. */
export const FALLBACK_GPU_IDLE_SHARE = 0.12;

/** The clock of the slowest known CPU, so that an unknown node never ranks above the same node once it is known. */
export const FALLBACK_BASE_GHZ = Math.min(...BUILTIN_CPUS.map(({ baseGHz }) => baseGHz.value));
