import type { NodeTwinSpec } from "../../../core/api/index.ts";
import {
  type CapResolution,
  cpuCapIntent,
  gpuCapIntent,
  raplStep,
  resolveCap,
  withLowestCap,
} from "../../../core/control/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import type { Caps } from "../../../core/physics/index.ts";
import type { Watts } from "../../../core/units/index.ts";

/** The caps that an agent would set for a target on this hardware. */
export function capsFor(spec: Pick<NodeTwinSpec, "cpu" | "gpu">, { cpu, gpu }: HardwareView): Caps {
  const device = withLowestCap({ min: cpu.minWattsPerSocket, max: cpu.maxWattsPerSocket, step: raplStep });
  const packageCap = resolveCap(cpuCapIntent(spec.cpu), device);
  const boardCap = gpu && resolveCap(gpuCapIntent(spec.gpu?.powerCap), { min: gpu.minWatts, max: gpu.maxWatts });
  return { cpuWattsPerPackage: wattsOf(packageCap), gpuWattsPerBoard: wattsOf(boardCap) };
}

const wattsOf = (resolution: CapResolution | undefined): Watts | undefined =>
  resolution?.kind === "watts" ? resolution.watts : undefined;
