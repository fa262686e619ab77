import type { NodeTwinSpec } from "../../core/api/index.ts";
import { effectiveCaps } from "../../core/twin/index.ts";
import type { Percent, Watts } from "../../core/units/index.ts";
import type { RunningSimulator } from "../simulator/index.ts";

type Machine = NonNullable<ReturnType<RunningSimulator["datacenter"]["machine"]>>;
/** What a comparison reads of a simulated node. */
export interface CappedMachine {
  readonly spec: Pick<Machine["spec"], "hardware">;
  readonly physics: Pick<Machine["physics"], "caps">;
}

/** Caps are computed as shares of a maximum and sent in watts. */
const TOLERANCE = 0.5;

/** How the caps in force on a node differ from those that are published for it; undefined where they do not. */
export function capDifference(published: NodeTwinSpec, { spec, physics }: CappedMachine): string | undefined {
  const { cpu, gpu } = spec.hardware;
  const { cpuPct, gpuPct } = effectiveCaps(published, spec.hardware);
  const { cpuWattsPerPackage, gpuWattsPerBoard, throttlePct = 0 } = physics.caps;
  const differences = [
    differs("CPU", cpuPct, cpu.minWattsPerSocket, cpu.maxWattsPerSocket, cpuWattsPerPackage),
    gpu && differs("GPU", gpuPct, gpu.minWatts, gpu.maxWatts, gpuWattsPerBoard),
    throttlePct > 0 ? `throttled by ${throttlePct} %` : undefined,
  ].filter((difference) => difference !== undefined);
  return differences.length === 0 ? undefined : differences.join(", ");
}

/** No cap in force is the device's own maximum; one below what the device can do is its minimum. */
function differs(
  device: string,
  pct: Percent,
  min: Watts | undefined,
  max: Watts | undefined,
  inForce: Watts | undefined,
): string | undefined {
  if (max === undefined) return undefined;
  const wanted = Math.max(min ?? 0, (max * pct) / 100);
  const there = inForce ?? max;
  return Math.abs(there - wanted) <= TOLERANCE ? undefined : `${device} ${there} W instead of ${wanted} W`;
}
