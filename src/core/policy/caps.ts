import type { CpuCap, Exactness, GpuPowerCap, NodeTwinSpec, Profile } from "../api/index.ts";
import { type CpuView, type GpuView, gpuNameParts, type Origin } from "../inventory/index.ts";
import { type Percent, percent, percentOf, type Watts, watts } from "../units/index.ts";

/** The caps of a NodeTwin's spec; an absent cap means uncapped. */
export type CapIntents = Pick<NodeTwinSpec, "cpu" | "gpu">;
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

interface ModelCaps {
  readonly minCapWatts?: Watts | undefined;
  readonly maxCapWatts: Watts;
}

export interface CapHardware {
  readonly cpu: Pick<CpuView, "match" | "maxWattsPerSocket" | "minWattsPerSocket" | "from">;
  readonly gpu?: Pick<GpuView, "count" | "model" | "key" | "match" | "maxWatts" | "minWatts" | "from">;
}

/** A cap of the CPUs and of the GPUs, before it is written in the unit of the settings. */
export interface CapFigures {
  /** Undefined: the CPUs stay uncapped. */
  readonly cpu: { readonly watts: Watts; readonly percent: Percent } | undefined;
  readonly gpu: Percent;
}

/** Takes the settings first, because they are read once. A cap that the API would reject is left out. */
export function capIntents(settings: CapSettings): (hardware: CapHardware) => Readonly<Record<Profile, CapIntents>> {
  const { cpu, gpu } = settings;
  const write = capWriter(settings);
  const figuresOf = (profile: Profile, hardware: CapHardware): CapFigures => ({
    cpu:
      hasGpus(hardware) && !cpu.onGpuNodes ? undefined : { watts: cpu.watts[profile], percent: cpu.percent[profile] },
    gpu: gpu.percent[profile],
  });
  return (hardware) => ({
    performance: write(hardware, figuresOf("performance", hardware)),
    eco: write(hardware, figuresOf("eco", hardware)),
  });
}

/** Writes caps in the unit of the settings, within the range of the device. */
export function capWriter({ cpu, gpu }: CapSettings): (hardware: CapHardware, figures: CapFigures) => CapIntents {
  const rangeOf = gpu.absolute ? gpuRanges(gpu.modelCaps) : () => undefined;
  return (hardware, figures) => {
    const cpuIntent = figures.cpu && cpuCap(figures.cpu, hardware.cpu, cpu.absolute);
    const board = hasGpus(hardware) ? hardware.gpu : undefined;
    const powerCap = board && gpuCap(figures.gpu, rangeOf(board));
    return { ...(cpuIntent && { cpu: cpuIntent }), ...(powerCap && { gpu: { powerCap } }) };
  };
}

const hasGpus = ({ gpu }: CapHardware): boolean => gpu !== undefined && gpu.count > 0;

function cpuCap(
  figures: NonNullable<CapFigures["cpu"]>,
  cpu: CapHardware["cpu"],
  absolute: boolean,
): CpuCap | undefined {
  if (absolute) {
    const most = isItsOwn(cpu.from.maxWatts, cpu.match) ? cpu.maxWattsPerSocket : undefined;
    const packagePowerCapWatts = within(figures.watts, cpu.minWattsPerSocket, most);
    return packagePowerCapWatts && { packagePowerCapWatts };
  }
  const packagePowerCapPctOfMax = capPercent(figures.percent);
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
