import type { HardwareView, LoadCurve } from "../inventory/index.ts";
import { isNonNegative, type Watts, watts } from "../units/index.ts";

/** The hardware properties that estimates need; a HardwareView has them. */
export interface LoadEnvelope {
  readonly cpu: Pick<HardwareView["cpu"], "idleWatts" | "defaultWatts"> & {
    readonly curve?: LoadCurve;
  };
  readonly gpu?: Pick<NonNullable<HardwareView["gpu"]>, "count" | "idleWatts">;
}

const gpuIdle = ({ gpu }: LoadEnvelope): number => (gpu === undefined ? 0 : gpu.count * gpu.idleWatts);

/** The last resort: idle power plus the expected power of the bound pods, at most the cap. */
export const staticEstimate = (hardware: LoadEnvelope, pods: Watts, cap: Watts | undefined): Watts | undefined =>
  atMost(hardware.cpu.idleWatts + gpuIdle(hardware) + pods, cap);

/**
 * Estimates power from CPU utilisation (0 idle, 1 busy) and the load curve, or linearly without a curve. CPU utilisation says
 * nothing about GPUs: they count with their idle power plus the expected power of their pods.
 */
export function utilizationEstimate(
  hardware: LoadEnvelope,
  utilization: number,
  gpuPods: Watts,
  cap: Watts | undefined,
): Watts | undefined {
  if (!Number.isFinite(utilization)) return undefined;
  const load = Math.min(1, Math.max(0, utilization));
  const { idleWatts, defaultWatts: full, curve = [] } = hardware.cpu;
  const cpu = curve.length > 0 ? full * along(curve, load) : idleWatts + (full - idleWatts) * load;
  return atMost(cpu + gpuIdle(hardware) + gpuPods, cap);
}

/** The power of all boards: idle power plus the expected power of the bound pods, at most their caps. */
export const gpuEstimate = (hardware: LoadEnvelope, gpuPods: Watts, cap: Watts | undefined): Watts | undefined =>
  atMost(gpuIdle(hardware) + gpuPods, cap);

/** Linear between the points, constant outside. */
function along(points: LoadCurve, load: number): number {
  const next = points.findIndex(([at]) => at >= load);
  // Past the last point `next` is -1, which selects the last point.
  const [to, high] = points.at(next) ?? [0, 0];
  const [from, low] = points[next - 1] ?? [to, high];
  return to > from ? low + ((high - low) * (load - from)) / (to - from) : high;
}

const atMost = (power: number, cap: Watts | undefined): Watts | undefined =>
  isNonNegative(power) ? watts(isNonNegative(cap) ? Math.min(power, cap) : power) : undefined;
