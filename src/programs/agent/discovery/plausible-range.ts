import type { CpuHardware, GpuHardware } from "../../../core/api/index.ts";
import type { CpuView, GpuView } from "../../../core/inventory/index.ts";
import { type Watts, watts } from "../../../core/units/index.ts";
import { publishableWarnings } from "./discovered-hardware.ts";

/**
 * Firmware may report an unrealistic maximum. It is corrected only here, at discovery: the operator and the extender use what is
 * published.
 */
export function plausibleCpu(cpu: CpuHardware, { key, plausibleWattsPerSocket: limit }: CpuView): CpuHardware {
  const { capRange, warnings = [] } = cpu;
  const reported = capRange?.maxWattsPerSocket;
  if (capRange === undefined || reported === undefined || limit === undefined || reported <= limit) return cpu;
  return {
    ...cpu,
    capRange: { ...capRange, maxWattsPerSocket: limit, ...atMost(limit, "minWattsPerSocket", capRange) },
    warnings: publishableWarnings([...warnings, implausible(reported, "socket", key, limit)]),
  };
}

export function plausibleGpu(gpu: GpuHardware, { key, plausibleWatts: limit }: GpuView): GpuHardware {
  const { capRangePerGpu: range, warnings = [] } = gpu;
  const reported = range?.maxWatts;
  if (range === undefined || reported === undefined || limit === undefined || reported <= limit) return gpu;
  return {
    ...gpu,
    capRangePerGpu: {
      ...range,
      maxWatts: limit,
      ...atMost(limit, "minWatts", range),
      ...atMost(limit, "defaultWatts", range),
    },
    warnings: publishableWarnings([...warnings, implausible(reported, "board", key, limit)]),
  };
}

const implausible = (reported: Watts, part: string, key: string, limit: Watts): string =>
  `the firmware reports up to ${reported} W per ${part}, which ${key} cannot draw: published as ${limit} W`;

function atMost<Field extends string>(
  limit: Watts,
  field: Field,
  range: Readonly<Partial<Record<Field, Watts | undefined>>>,
): Partial<Record<Field, Watts>> {
  const value = range[field];
  return value === undefined ? {} : ({ [field]: watts(Math.min(value, limit)) } as Record<Field, Watts>);
}
