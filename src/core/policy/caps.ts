import type { CpuCap, GpuPowerCap, NodeTwinSpec, Profile } from "../api/index.ts";
import type { CpuView, GpuView } from "../inventory/index.ts";
import { type Percent, percent, percentOf, type Watts, watts } from "../units/index.ts";

/** The caps of a NodeTwin's spec; an absent one means uncapped. */
export type CapIntents = Pick<NodeTwinSpec, "cpu" | "gpu">;

export interface CapSettings {
  readonly cpu: {
    /** Watts per package instead of percent. */
    readonly absolute: boolean;
    readonly watts: Readonly<Record<Profile, Watts>>;
    readonly percent: Readonly<Record<Profile, Percent>>;
    /** Whether nodes with GPUs get a CPU cap as well. */
    readonly onGpuNodes: boolean;
  };
  readonly gpu: {
    /** Watts per GPU beside percent, where the model maps to watts. */
    readonly absolute: boolean;
    readonly percent: Readonly<Record<Profile, Percent>>;
    /** By product; it wins over the catalogue. */
    readonly modelCaps: Readonly<Record<string, ModelCaps>>;
  };
}

export interface ModelCaps {
  readonly minCapWatts?: Watts | undefined;
  readonly maxCapWatts: Watts;
}

/** The part of a HardwareView caps depend on. */
export interface CapHardware {
  readonly cpu: Pick<CpuView, "maxWattsPerSocket" | "minWattsPerSocket" | "from">;
  readonly gpu?: Pick<GpuView, "count" | "model" | "key" | "maxWatts" | "minWatts" | "from"> | undefined;
}

/** Any cap the API would refuse is left out: no cap is better than one nobody can read. */
export function capIntents(profile: Profile, hardware: CapHardware, settings: CapSettings): CapIntents {
  const hasGpus = (hardware.gpu?.count ?? 0) > 0;
  const cpu = hasGpus && !settings.cpu.onGpuNodes ? undefined : cpuCap(profile, hardware.cpu, settings.cpu);
  const powerCap = hasGpus ? gpuCap(profile, hardware.gpu, settings.gpu) : undefined;
  return { ...(cpu && { cpu }), ...(powerCap && { gpu: { powerCap } }) };
}

function cpuCap(profile: Profile, cpu: CapHardware["cpu"], settings: CapSettings["cpu"]): CpuCap | undefined {
  if (settings.absolute) {
    // A fallback is a guess of the most it draws, no limit of what it can be set to.
    const isKnown = cpu.from.maxWatts !== "fallback";
    const packagePowerCapWatts = within(
      settings.watts[profile],
      cpu.minWattsPerSocket,
      isKnown ? cpu.maxWattsPerSocket : undefined,
    );
    return packagePowerCapWatts && { packagePowerCapWatts };
  }
  const packagePowerCapPctOfMax = capPercent(settings.percent[profile]);
  return packagePowerCapPctOfMax && { packagePowerCapPctOfMax };
}

function gpuCap(profile: Profile, gpu: CapHardware["gpu"], settings: CapSettings["gpu"]): GpuPowerCap | undefined {
  const capPctOfMax = capPercent(settings.percent[profile]);
  if (capPctOfMax === undefined) return undefined;
  const range = settings.absolute && gpu ? rangeOf(gpu, settings.modelCaps) : undefined;
  const capWattsPerGpu =
    range && within(percentOf(capPctOfMax, range.maxCapWatts), range.minCapWatts, range.maxCapWatts);
  return { scope: "perGpu", capPctOfMax, ...(capWattsPerGpu && { capWattsPerGpu }) };
}

function rangeOf(
  gpu: NonNullable<CapHardware["gpu"]>,
  modelCaps: CapSettings["gpu"]["modelCaps"],
): ModelCaps | undefined {
  const names = new Set([plain(gpu.model ?? gpu.key), plain(gpu.key)]);
  const configured = Object.entries(modelCaps).find(([product]) => names.has(plain(product)));
  if (configured) return configured[1];
  return gpu.from.maxWatts === "fallback" ? undefined : { minCapWatts: gpu.minWatts, maxCapWatts: gpu.maxWatts };
}

/** `NVIDIA-H100-80GB-HBM3` of a label and `NVIDIA H100 80GB HBM3` of the driver are one product. */
const plain = (product: string): string => product.toLowerCase().replaceAll(/[^a-z0-9]+/g, " ");

/** Undefined for what is no cap: less than a watt, or no number. */
function within(value: Watts, least: Watts | undefined, most: Watts | undefined): Watts | undefined {
  const capped = Math.min(Math.max(value, least ?? value), most ?? value);
  return capped >= 1 && Number.isFinite(capped) ? watts(capped) : undefined;
}

const capPercent = (value: Percent): Percent | undefined => (value > 0 ? percent(Math.min(100, value)) : undefined);
