import type { HardwareQuality, Node, NodeHardwareStatus } from "../../../core/api/index.ts";
import { type Catalogue, hardwareView } from "../../../core/inventory/index.ts";
import { type Watts, watts } from "../../../core/units/index.ts";
import type { EnergyMeter, HostFacts, PowerCapBackend, ThrottleBackend } from "../../../platform/hardware/index.ts";
import { cpuHardware } from "./cpu-hardware.ts";
import { type DiscoveredBackend, type DiscoveredHardware, publishableWarnings } from "./discovered-hardware.ts";
import { gpuHardware } from "./gpu-hardware.ts";
import { plausibleCpu, plausibleGpu } from "./plausible-range.ts";

/** What a machine can be asked. */
export interface DiscoverySources {
  readonly facts: { read(): HostFacts };
  /** What limits CPU packages, best first. */
  readonly cpuCaps: readonly PowerCapBackend[];
  readonly throttle: ThrottleBackend;
  readonly energy: EnergyMeter;
  readonly gpuCaps: readonly PowerCapBackend[];
}

export interface DiscoveryOptions {
  /** Whether limits may be written back as they are, to prove that they can be set. Otherwise nothing is written at all. */
  readonly mayWrite: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Looks at a machine and says what it is made of and what works on it. */
export async function discoverHardware(
  sources: DiscoverySources,
  node: Node,
  catalogue: Catalogue,
  { mayWrite, signal }: DiscoveryOptions = { mayWrite: false },
): Promise<NodeHardwareStatus> {
  if (mayWrite) for (const backend of sources.cpuCaps) await backend.proveWritable?.(signal);
  return hardwareStatus(await look(sources, signal), node, catalogue);
}

async function look(
  { facts, cpuCaps, throttle, energy, gpuCaps }: DiscoverySources,
  signal?: AbortSignal,
): Promise<DiscoveredHardware> {
  const [cpu, gpu, { absent: noThrottle }] = await Promise.all([
    Promise.all(cpuCaps.map(async (backend) => lookAt(backend, signal))),
    Promise.all(gpuCaps.map(async (backend) => lookAt(backend, signal))),
    throttle.discover(signal),
  ]);
  const { zones, missing } = energy.sample();
  const noEnergy = zones.length > 0 ? undefined : (missing ?? "there are no energy counters");
  return { facts: facts.read(), cpu, noThrottle, noEnergy, gpu };
}

async function lookAt(backend: PowerCapBackend, signal: AbortSignal | undefined): Promise<DiscoveredBackend> {
  const view = await backend.discover(signal);
  const answering = (view.boards ?? []).filter(({ lost }) => lost === undefined);
  const limits = await Promise.all(
    answering.map(async ({ id }) => [id, (await backend.limit(id, signal)).limit] as const),
  );
  const powers = view.boards === undefined ? [] : ((await backend.power?.(signal)) ?? []);
  const known = limits.flatMap(([id, limit]) => (limit === undefined ? [] : [[id, limit] as const]));
  return { name: backend.name, view, limits: new Map(known), powers };
}

/**
 * The node's hardware as it is published. What was found on the machine comes first; its labels only help the catalogue to name
 * what the machine itself does not, for a label that is published as a finding would outlive its own correction.
 */
function hardwareStatus(findings: DiscoveredHardware, node: Node, catalogue: Catalogue): NodeHardwareStatus {
  const { facts } = findings;
  const found = { cpu: cpuHardware(findings), gpu: gpuHardware(findings.gpu) };
  const view = hardwareView(node, found, { catalogue });
  const believed = plausibleCpu(found.cpu, view.cpu);
  const cpu = { ...believed, ...explained(believed, view.cpu, "CPU") };
  const gpu = hinted(view.gpu === undefined ? found.gpu : plausibleGpu(found.gpu, view.gpu), view.gpu !== undefined);
  const described = view.gpu === undefined ? gpu : { ...gpu, ...explained(gpu, view.gpu, "GPU") };
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

interface Explained {
  readonly rawModel?: string | undefined;
  readonly quality?: HardwareQuality | undefined;
  readonly warnings?: readonly string[] | undefined;
}

interface Named {
  readonly key: string;
  readonly match: "exact" | "proxy" | "generic";
  readonly reason: string;
  readonly model?: string;
}

/** What the catalogue adds: the model in its spelling, and how far its figures are those of this very part. */
function explained({ rawModel, quality, warnings = [] }: Explained, view: Named, device: string) {
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

/** Labels that speak of GPUs nobody on the machine can see: they may well be there, without their driver. */
function hinted(gpu: ReturnType<typeof gpuHardware>, labelled: boolean): ReturnType<typeof gpuHardware> {
  if (gpu.present || !labelled) return gpu;
  const warning = "the node's labels or devices speak of GPUs, and none answers here";
  return { ...gpu, present: true, warnings: [warning, ...(gpu.warnings ?? [])] };
}

const QUALITIES: readonly HardwareQuality[] = ["unavailable", "heuristic", "exact"];

const worst = (parts: readonly (HardwareQuality | undefined)[]): HardwareQuality =>
  QUALITIES.find((quality) => parts.includes(quality)) ?? "unavailable";

/** What stands in for a part may be its smaller brother: how far beyond its rating the firmware is still believed. */
const MOST_OVER_STAND_IN = 1.5;

/** What the catalogue says a package is rated for and can be set to, for parts that do not say so themselves. */
export function catalogueLimits(
  model: string | undefined,
  catalogue: Catalogue,
): { readonly rated?: Watts; readonly least?: Watts | undefined; readonly most?: Watts } {
  const { entry, match } = catalogue.cpu(model ?? "");
  if (entry === undefined) return {};
  const rated = entry.tdp.value;
  const most = match === "exact" ? Math.max(rated, entry.configurable?.max.value ?? rated) : rated * MOST_OVER_STAND_IN;
  return { rated, least: entry.configurable?.min.value, most: watts(most) };
}
