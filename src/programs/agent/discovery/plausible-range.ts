import type { CpuHardware, GpuHardware } from "../../../core/api/index.ts";
import type { CpuView, GpuView } from "../../../core/inventory/index.ts";
import { type Watts, watts } from "../../../core/units/index.ts";
import { publishableWarnings } from "./discovered-hardware.ts";

/**
 * What firmware says can be a mere ceiling. It is judged here, where it is discovered, and nowhere else: what is published is
 * what the operator and the extender reckon with.
 */
export function plausibleCpu(cpu: CpuHardware, { key, plausibleWattsPerSocket: most }: CpuView): CpuHardware {
  const { capRange, warnings = [] } = cpu;
  const said = capRange?.maxWattsPerSocket;
  if (capRange === undefined || said === undefined || most === undefined || said <= most) return cpu;
  return {
    ...cpu,
    capRange: { ...capRange, maxWattsPerSocket: most, ...atMost(most, "minWattsPerSocket", capRange) },
    warnings: publishableWarnings([...warnings, implausible(said, "socket", key, most)]),
  };
}

export function plausibleGpu(gpu: GpuHardware, { key, plausibleWatts: most }: GpuView): GpuHardware {
  const { capRangePerGpu: range, warnings = [] } = gpu;
  const said = range?.maxWatts;
  if (range === undefined || said === undefined || most === undefined || said <= most) return gpu;
  return {
    ...gpu,
    capRangePerGpu: {
      ...range,
      maxWatts: most,
      ...atMost(most, "minWatts", range),
      ...atMost(most, "defaultWatts", range),
    },
    warnings: publishableWarnings([...warnings, implausible(said, "board", key, most)]),
  };
}

const implausible = (said: Watts, part: string, key: string, most: Watts): string =>
  `the firmware says up to ${said} W a ${part}, which ${key} cannot take: published as ${most} W`;

function atMost<Field extends string>(
  most: Watts,
  field: Field,
  range: Readonly<Partial<Record<Field, Watts | undefined>>>,
): Partial<Record<Field, Watts>> {
  const value = range[field];
  return value === undefined ? {} : ({ [field]: watts(Math.min(value, most)) } as Record<Field, Watts>);
}
