import type { CpuCap, Exactness, GpuPowerCap, NodeTwinSpec, Profile } from "../api/index.ts";
import { type CpuView, type GpuView, gpuNameParts, type Origin } from "../inventory/index.ts";
import { type Percent, percent, percentOf, type Watts, watts } from "../units/index.ts";

/** The caps of a NodeTwin's spec; an absent cap means uncapped. */
export type CapIntents = Pick<NodeTwinSpec, "cpu" | "gpu">;
/** The caps of a node under each profile. */
export interface ProfileCaps extends Readonly<Record<Profile, CapIntents>> {
  /** If eco caps change with the queues: the highest of them. Published caps up to these count as eco caps. */
  readonly ecoCeiling?: CapIntents | undefined;
}

export interface CapSettings {
  readonly cpu: {
    /** Watts per package instead of percent. */
    readonly absolute: boolean;
    readonly watts: Readonly<Record<Profile, Watts>>;
    readonly percent: Readonly<Record<Profile, Percent>>;
    /** Whether nodes with GPUs get a CPU cap too. */
    readonly onGpuNodes: boolean;
  };
  readonly gpu: {
    /** Whether to set watts per GPU besides the percentage, if the model's watts are known. */
    readonly absolute: boolean;
    readonly percent: Readonly<Record<Profile, Percent>>;
    /** By product; takes precedence over the catalogue. */
    readonly modelCaps: Readonly<Record<string, ModelCaps>>;
  };
}

export interface ModelCaps {
  readonly minCapWatts?: Watts | undefined;
  readonly maxCapWatts: Watts;
}

/** The part of a HardwareView that caps depend on. */
export interface CapHardware {
  readonly cpu: Pick<CpuView, "match" | "maxWattsPerSocket" | "minWattsPerSocket" | "from">;
  readonly gpu?: Pick<GpuView, "count" | "model" | "key" | "match" | "maxWatts" | "minWatts" | "from"> | undefined;
}

/**
 * Takes the settings first, because they are read once, and then the hardware, because caps depend on nothing else. A cap
 * that the API would reject is left out.
 */
export function capIntents({ cpu, gpu }: CapSettings): (hardware: CapHardware) => ProfileCaps {
  const rangeOf = gpu.absolute ? gpuRanges(gpu.modelCaps) : () => undefined;
  return (hardware) => {
    const board = hardware.gpu && hardware.gpu.count > 0 ? hardware.gpu : undefined;
    const range = board && rangeOf(board);
    const intent = (profile: Profile): CapIntents => {
      const cpuIntent = board && !cpu.onGpuNodes ? undefined : cpuCap(profile, hardware.cpu, cpu);
      const powerCap = board && gpuCap(gpu.percent[profile], range);
      return { ...(cpuIntent && { cpu: cpuIntent }), ...(powerCap && { gpu: { powerCap } }) };
    };
    return { performance: intent("performance"), eco: intent("eco") };
  };
}

function cpuCap(profile: Profile, cpu: CapHardware["cpu"], settings: CapSettings["cpu"]): CpuCap | undefined {
  if (settings.absolute) {
    const most = isItsOwn(cpu.from.maxWatts, cpu.match) ? cpu.maxWattsPerSocket : undefined;
    const packagePowerCapWatts = within(settings.watts[profile], cpu.minWattsPerSocket, most);
    return packagePowerCapWatts && { packagePowerCapWatts };
  }
  const packagePowerCapPctOfMax = capPercent(settings.percent[profile]);
  return packagePowerCapPctOfMax && { packagePowerCapPctOfMax };
}

function gpuCap(share: Percent, range: ModelCaps | undefined): GpuPowerCap | undefined {
  const capPctOfMax = capPercent(share);
  if (capPctOfMax === undefined) return undefined;
  const capWattsPerGpu =
    range && within(percentOf(capPctOfMax, range.maxCapWatts), range.minCapWatts, range.maxCapWatts);
  return { scope: "perGpu", capPctOfMax, ...(capWattsPerGpu && { capWattsPerGpu }) };
}

/** The maximum that the percentages of a board refer to. */
export function gpuMaximum({ gpu }: CapSettings): (board: Board) => Watts {
  const rangeOf = gpu.absolute ? gpuRanges(gpu.modelCaps) : () => undefined;
  return (board) => rangeOf(board)?.maxCapWatts ?? board.maxWatts;
}

type Board = NonNullable<CapHardware["gpu"]>;

/**
 * The maximum that a board's percentages refer to: the settings for its product, else the known values of the board itself.
 * Watts from a proxy could exceed what the board ever draws, and would still take precedence over the percentage.
 */
function gpuRanges(modelCaps: CapSettings["gpu"]["modelCaps"]): (gpu: Board) => ModelCaps | undefined {
  const configured = new Map(Object.entries(modelCaps).map(([product, caps]) => [gpuNameParts(product).id, caps]));
  configured.delete("");
  const named = (name: string | undefined) =>
    name === undefined || configured.size === 0 ? undefined : configured.get(gpuNameParts(name).id);
  return (gpu) => named(gpu.model) ?? (gpu.match === "exact" ? named(gpu.key) : undefined) ?? ownRange(gpu);
}

const ownRange = ({ from, match, minWatts, maxWatts }: Board): ModelCaps | undefined =>
  isItsOwn(from.maxWatts, match)
    ? { minCapWatts: isItsOwn(from.minWatts, match) ? minWatts : undefined, maxCapWatts: maxWatts }
    : undefined;

/** True for values read from the device or listed for exactly its model, not for proxies and estimates. */
const isItsOwn = (origin: Origin | undefined, match: Exactness): boolean =>
  origin === "discovered" || (origin === "catalogue" && match === "exact");

/** Undefined for values that are not a cap: below one watt, or not a number. */
function within(value: Watts, least: Watts | undefined, most: Watts | undefined): Watts | undefined {
  const capped = Math.min(Math.max(value, least ?? value), most ?? value);
  return Number.isFinite(capped) && capped >= 1 ? watts(capped) : undefined;
}

const capPercent = (value: Percent): Percent | undefined => (value > 0 ? percent(Math.min(100, value)) : undefined);
