import type { CpuHardware, GpuHardware, HardwareQuality, Node, NodeHardwareStatus } from "../../../core/api/index.ts";
import { type Catalogue, type CpuView, type GpuView, hardwareView } from "../../../core/inventory/index.ts";
import { type Watts, watts } from "../../../core/units/index.ts";
import type { EnergyMeter, HostFacts, PowerCapBackend, ThrottleBackend } from "../../../platform/hardware/index.ts";
import { cpuHardware } from "./cpu-hardware.ts";
import { type DiscoveredBackend, type DiscoveredHardware, publishableWarnings } from "./discovered-hardware.ts";
import { gpuHardware } from "./gpu-hardware.ts";

export interface DiscoverySources {
  readonly facts: () => HostFacts;
  readonly cpuCaps: readonly PowerCapBackend[];
  readonly throttle: ThrottleBackend;
  readonly energy: EnergyMeter;
  readonly gpuCaps: readonly PowerCapBackend[];
}

export interface DiscoveryOptions {
  /** Whether discovery may write limits back unchanged to prove that they can be set. Otherwise it writes nothing. */
  readonly mayWrite: boolean;
  readonly signal?: AbortSignal;
}

export async function discoverHardware(
  sources: DiscoverySources,
  node: Node,
  catalogue: Catalogue,
  { mayWrite, signal }: DiscoveryOptions = { mayWrite: false },
): Promise<NodeHardwareStatus> {
  if (mayWrite) for (const backend of sources.cpuCaps) await backend.proveWritable?.(signal);
  return hardwareStatus(await readSources(sources, signal), node, catalogue);
}

async function readSources(
  { facts, cpuCaps, throttle, energy, gpuCaps }: DiscoverySources,
  signal?: AbortSignal,
): Promise<DiscoveredHardware> {
  const [cpu, gpu, { absent: noThrottle }] = await Promise.all([
    Promise.all(cpuCaps.map(async (backend) => readBackend(backend, signal))),
    Promise.all(gpuCaps.map(async (backend) => readBackend(backend, signal))),
    throttle.discover(signal),
  ]);
  const { zones, missing } = energy.sample();
  const noEnergy = zones.length > 0 ? undefined : (missing ?? "there are no energy counters");
  return { facts: facts(), cpu, noThrottle, noEnergy, gpu };
}

async function readBackend(backend: PowerCapBackend, signal: AbortSignal | undefined): Promise<DiscoveredBackend> {
  const view = await backend.discover(signal);
  const answering = (view.boards ?? []).filter(({ lost }) => lost === undefined);
  const limits = await Promise.all(
    answering.map(async ({ id }) => [id, (await backend.limit(id, signal)).limit] as const),
  );
  const powers = view.boards === undefined ? [] : ((await backend.power?.(signal)) ?? []);
  const known = limits.flatMap(([id, limit]) => (limit === undefined ? [] : [[id, limit] as const]));
  return { name: backend.name, view, limits: new Map(known), powers };
}

/** What was found on the machine. Labels only help to find the catalogue entry: published as discovered they would outlive it. */
function hardwareStatus(discovered: DiscoveredHardware, node: Node, catalogue: Catalogue): NodeHardwareStatus {
  const { facts } = discovered;
  const found = { cpu: cpuHardware(discovered), gpu: gpuHardware(discovered.gpu) };
  const view = hardwareView(node, found, { catalogue });
  const plausible = plausibleCpu(found.cpu, view.cpu);
  const cpu = { ...plausible, ...catalogueFields(plausible, view.cpu, "CPU") };
  const gpu = withLabelHint(
    view.gpu === undefined ? found.gpu : plausibleGpu(found.gpu, view.gpu),
    view.gpu !== undefined,
  );
  const described = view.gpu === undefined ? gpu : { ...gpu, ...catalogueFields(gpu, view.gpu, "GPU") };
  const { controlAvailable: cpuControl = false, telemetryAvailable: cpuTelemetry = false } = cpu;
  const { controlAvailable: gpuControl = false, telemetryAvailable: gpuTelemetry = false } = described;
  return {
    cpu,
    gpu: described,
    ...(facts.memoryBytes === undefined ? {} : { memory: { totalBytes: facts.memoryBytes } }),
    inventoryResolution: {
      hardwareCatalogKey: { cpu: view.cpu.key, ...(view.gpu ? { gpu: view.gpu.key } : {}) },
      exactness: { cpu: view.cpu.match, ...(view.gpu ? { gpu: view.gpu.match } : {}) },
    },
    capabilities: { cpuControl, gpuControl, cpuTelemetry, gpuTelemetry },
    quality: {
      overall: worst([cpu.quality, described.present ? described.quality : undefined]),
      warnings: publishableWarnings(facts.warnings),
    },
  };
}

interface DiscoveredFields {
  readonly rawModel?: string | undefined;
  readonly quality?: HardwareQuality | undefined;
  readonly warnings?: readonly string[] | undefined;
}

interface CatalogueMatch {
  readonly key: string;
  readonly match: "exact" | "proxy" | "generic";
  readonly reason: string;
  readonly model?: string;
}

/** What the catalogue adds: its name of the model, and how exactly it matches. */
function catalogueFields({ rawModel, quality, warnings = [] }: DiscoveredFields, view: CatalogueMatch, device: string) {
  const fromLabels = rawModel === undefined && view.model !== undefined;
  const more = [
    fromLabels ? `the ${device} model is only known from the node's labels` : "",
    view.match === "exact" ? "" : view.reason,
  ];
  const isExact = quality === "exact" && view.match === "exact" && !fromLabels;
  return {
    ...(view.match === "generic" ? {} : { model: view.key }),
    quality: isExact || quality === "unavailable" ? quality : ("heuristic" as const),
    warnings: publishableWarnings([...warnings, ...more]),
  };
}

/** The node's labels announce GPUs and no backend finds any: they may be there without a driver. */
function withLabelHint(gpu: ReturnType<typeof gpuHardware>, labelled: boolean): ReturnType<typeof gpuHardware> {
  if (gpu.present || !labelled) return gpu;
  const warning = "the node's labels or resources announce GPUs, but no GPU driver answers";
  return { ...gpu, present: true, warnings: [warning, ...(gpu.warnings ?? [])] };
}

const QUALITIES: readonly HardwareQuality[] = ["unavailable", "heuristic", "exact"];

const worst = (parts: readonly (HardwareQuality | undefined)[]): HardwareQuality =>
  QUALITIES.find((quality) => parts.includes(quality)) ?? "unavailable";

/** The catalogue entry of a similar, perhaps smaller model: how far above its TDP a firmware value is still plausible. */
const MAX_OVER_SIMILAR_MODEL = 1.5;

/** TDP and highest configurable power of a package by the catalogue, for hardware that does not report them. */
export function catalogueLimits(
  model: string | undefined,
  catalogue: Catalogue,
): { readonly rated?: Watts; readonly max?: Watts } {
  const { entry, match } = catalogue.cpu(model ?? "");
  if (entry === undefined) return {};
  const rated = entry.tdpWatts;
  const max = match === "exact" ? Math.max(rated, entry.maxWatts ?? rated) : rated * MAX_OVER_SIMILAR_MODEL;
  return { rated, max: watts(max) };
}

/** Firmware may report an unrealistic maximum. Only discovery corrects it: operator and extender use what is published. */
function plausibleCpu(cpu: CpuHardware, { key, plausibleWattsPerSocket: limit }: CpuView): CpuHardware {
  const { capRange, warnings = [] } = cpu;
  const reported = capRange?.maxWattsPerSocket;
  if (capRange === undefined || reported === undefined || limit === undefined || reported <= limit) return cpu;
  return {
    ...cpu,
    capRange: { ...capRange, maxWattsPerSocket: limit, ...atMost(limit, "minWattsPerSocket", capRange) },
    warnings: publishableWarnings([...warnings, implausible(reported, "socket", key, limit)]),
  };
}

function plausibleGpu(gpu: GpuHardware, { key, plausibleWatts: limit }: GpuView): GpuHardware {
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
