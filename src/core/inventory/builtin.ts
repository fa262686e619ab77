import { AMD_CPU_FAMILIES, AMD_CPU_PROXIES, AMD_CPUS } from "./catalogue/amd-cpu.ts";
import { AMD_GPU_PROXIES, AMD_GPUS } from "./catalogue/amd-gpu.ts";
import { ARM_CPU_PROXIES, ARM_CPUS } from "./catalogue/arm-cpu.ts";
import type { CpuEntry, CpuFamily, GpuEntry, Proxy } from "./catalogue/entry.ts";
import { INTEL_CPU_FAMILIES, INTEL_CPU_PROXIES, INTEL_CPUS } from "./catalogue/intel-cpu.ts";
import { INTEL_GPU_PROXIES, INTEL_GPUS } from "./catalogue/intel-gpu.ts";
import { NVIDIA_GPU_PROXIES, NVIDIA_GPUS } from "./catalogue/nvidia-gpu.ts";

/** The built-in models of Joulie, without the additions of a site. */
export const BUILTIN_CPUS: readonly CpuEntry[] = [...AMD_CPUS, ...INTEL_CPUS, ...ARM_CPUS];
export const BUILTIN_GPUS: readonly GpuEntry[] = [...NVIDIA_GPUS, ...AMD_GPUS, ...INTEL_GPUS];
export const CPU_FAMILIES: readonly CpuFamily[] = [...AMD_CPU_FAMILIES, ...INTEL_CPU_FAMILIES];
export const CPU_PROXIES: readonly Proxy[] = [...AMD_CPU_PROXIES, ...INTEL_CPU_PROXIES, ...ARM_CPU_PROXIES];
export const GPU_PROXIES: readonly Proxy[] = [...NVIDIA_GPU_PROXIES, ...AMD_GPU_PROXIES, ...INTEL_GPU_PROXIES];
