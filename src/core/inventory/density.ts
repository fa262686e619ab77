import { BUILTIN_CPUS, BUILTIN_GPUS } from "./builtin.ts";
import type { CpuView } from "./cpu-view.ts";
import type { GpuView } from "./gpu-view.ts";

/** Compute density: each part is in [0, 1], and `total` is their sum, the hardwareDensityScore. */
export interface Density {
  readonly cpu: number;
  readonly gpu: number;
  readonly total: number;
}

/** Two sockets of the built-in catalogue's best CPU and eight of its best GPU: a site's additions do not change the scale. */
export const FULL_SCALE_CORE_GHZ = 2 * Math.max(...BUILTIN_CPUS.map((entry) => entry.coresPerSocket * entry.baseGHz));
export const FULL_SCALE_TFLOPS = 8 * Math.max(...BUILTIN_GPUS.map((entry) => entry.perf));

/** Maps invalid values (NaN, negative, infinite) to a defined share. */
const share = (amount: number, whole: number): number => (amount > 0 ? Math.min(1, amount / whole) : 0);

export interface ComputeShape {
  readonly cpu: Pick<CpuView, "totalCores" | "baseGHz">;
  readonly gpu?: Pick<GpuView, "count" | "perf">;
}

export function densityOf({ cpu, gpu }: ComputeShape): Density {
  const cpuShare = share((cpu.totalCores ?? 0) * cpu.baseGHz, FULL_SCALE_CORE_GHZ);
  const gpuShare = gpu ? share(gpu.count * gpu.perf, FULL_SCALE_TFLOPS) : 0;
  return { cpu: cpuShare, gpu: gpuShare, total: cpuShare + gpuShare };
}

/** Sorts by density, highest first, then by name in code units, so that the locale does not affect a plan. */
export function byDensity(
  a: { readonly name: string; readonly density: Density },
  b: { readonly name: string; readonly density: Density },
): number {
  if (a.density.total !== b.density.total) return b.density.total - a.density.total;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}
