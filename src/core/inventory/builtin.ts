import type { GpuVendor } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { AMD_CPU_FAMILIES, AMD_CPU_PROXIES, AMD_CPUS } from "./catalogue/amd-cpu.ts";
import { AMD_GPU_PROXIES, AMD_GPUS } from "./catalogue/amd-gpu.ts";
import { ARM_CPU_PROXIES, ARM_CPUS } from "./catalogue/arm-cpu.ts";
import type { CpuEntry, CpuFamily, GpuEntry, Proxy } from "./catalogue/entry.ts";
import { INTEL_CPU_FAMILIES, INTEL_CPU_PROXIES, INTEL_CPUS, INTEL_GPU_PROXIES, INTEL_GPUS } from "./catalogue/intel.ts";
import { NVIDIA_GPU_PROXIES, NVIDIA_GPUS } from "./catalogue/nvidia-gpu.ts";

/** The built-in models of Joulie, without the additions of a site. */
export const BUILTIN_CPUS: readonly CpuEntry[] = [...AMD_CPUS, ...INTEL_CPUS, ...ARM_CPUS];
export const BUILTIN_GPUS: readonly GpuEntry[] = [...NVIDIA_GPUS, ...AMD_GPUS, ...INTEL_GPUS];
export const CPU_FAMILIES: readonly CpuFamily[] = [...AMD_CPU_FAMILIES, ...INTEL_CPU_FAMILIES];
export const CPU_PROXIES: readonly Proxy[] = [...AMD_CPU_PROXIES, ...INTEL_CPU_PROXIES, ...ARM_CPU_PROXIES];
export const GPU_PROXIES: readonly Proxy[] = [...NVIDIA_GPU_PROXIES, ...AMD_GPU_PROXIES, ...INTEL_GPU_PROXIES];

/** The assumed maximum power of unknown hardware (CONTRACT 6.22): per node for CPUs, per board for GPUs. */
export const fallbackCpuWatts = (cores: number | undefined): Watts => watts(Math.max(150, 3.5 * (cores ?? 0)));
export const fallbackGpuWatts = (vendor: GpuVendor | undefined): Watts => watts(vendor === "amd" ? 400 : 350);

/** Mean ratio of idle to full power in the Cloud Carbon Footprint coefficients: 0.74 of 3.5 W per vCPU. */
export const FALLBACK_CPU_IDLE_SHARE = 0.21;

/** From the boards with a published idle measurement: 79 of 700 W, 62 of 400 W. */
export const FALLBACK_GPU_IDLE_SHARE = 0.12;

/** The clock of the slowest known CPU, so that an unknown node never ranks above the same node once it is known. */
export const FALLBACK_BASE_GHZ = Math.min(...BUILTIN_CPUS.map(({ baseGHz }) => baseGHz.value));
