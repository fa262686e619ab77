import type { Exactness, GpuHardware, GpuVendor, Node, NodeHardwareStatus } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import type { CpuEntry, GpuEntry, LoadCurve } from "./catalogue/entry.ts";
import { builtinCatalogue, type Catalogue } from "./catalogue.ts";
import {
  FALLBACK_BASE_GHZ,
  FALLBACK_CPU_IDLE_SHARE,
  FALLBACK_GPU_IDLE_SHARE,
  fallbackCpuWatts,
  fallbackGpuWatts,
} from "./fallback.ts";
import { identityOf, type Known, type NodeIdentity, type Origin } from "./identity.ts";
import { GENERIC_KEY, type Match } from "./match.ts";
import { cpuNameParts, gpuNameParts } from "./normalise.ts";

/** Which origin each field of a view came from. */
export type Origins<Field extends string> = Readonly<Partial<Record<Field, Origin>>>;

interface Resolution {
  /** As the node spells it; absent where nobody names one. */
  readonly model?: string;
  /** Of the catalogue's entry, `generic` without one. */
  readonly key: string;
  readonly match: Exactness;
  readonly reason: string;
}

export interface CpuView extends Resolution {
  readonly vendor?: string;
  readonly sockets: number;
  readonly coresPerSocket?: number;
  readonly totalCores?: number;
  readonly baseGHz: number;
  readonly maxWattsPerSocket: Watts;
  /** Absent where no lower bound is known. */
  readonly minWattsPerSocket?: Watts;
  /** Of all sockets. */
  readonly maxWatts: Watts;
  readonly idleWatts: Watts;
  readonly curve?: LoadCurve;
  readonly from: Origins<
    "model" | "vendor" | "sockets" | "coresPerSocket" | "totalCores" | "baseGHz" | "maxWatts" | "minWatts" | "idleWatts"
  >;
}

/** Watts are per board. */
export interface GpuView extends Resolution {
  readonly vendor?: GpuVendor;
  readonly count: number;
  readonly maxWatts: Watts;
  readonly minWatts: Watts;
  readonly defaultWatts: Watts;
  readonly idleWatts: Watts;
  /** Dense FP16 TFLOPS of one board. */
  readonly perf: number;
  readonly from: Origins<
    "model" | "vendor" | "count" | "maxWatts" | "minWatts" | "defaultWatts" | "idleWatts" | "perf"
  >;
}

export interface HardwareView {
  readonly cpu: CpuView;
  /** Absent on a CPU-only node. */
  readonly gpu?: GpuView;
  /** Nodes of one family can stand in for each other: the GPU model, on CPU-only nodes the CPU model (POL-07). */
  readonly family: string;
}

export interface HardwareViewOptions {
  readonly catalogue?: Catalogue;
  /** GPU_PRODUCT_LABEL_KEYS. */
  readonly productLabelKeys?: readonly string[];
}

/** What a node is made of, as well as it can be known; complete without any NodeHardware. */
export function hardwareView(
  node: Node,
  discovered: NodeHardwareStatus | undefined,
  { catalogue = builtinCatalogue, productLabelKeys }: HardwareViewOptions = {},
): HardwareView {
  const identity = identityOf(node, discovered, productLabelKeys);
  const cpu = cpuView(identity.cpu, discovered, catalogue);
  const gpu = gpuView(identity.gpu, discovered, catalogue);
  return gpu ? { cpu, gpu, family: gpuFamily(gpu) } : { cpu, family: cpuFamily(cpu) };
}

const slug = (id: string): string => id.replaceAll(" ", "-");
const familyOf = (view: Resolution & { readonly vendor?: string }, kind: string, id: string): string => {
  if (view.key !== GENERIC_KEY) return view.key;
  return id === "" ? `${view.vendor ?? "unknown"}-${kind}` : slug(id);
};
const cpuFamily = (cpu: CpuView): string => familyOf(cpu, "cpu", cpuNameParts(cpu.model ?? "").id);
const gpuFamily = (gpu: GpuView): string => familyOf(gpu, "gpu", gpuNameParts(gpu.model ?? "").id);

const RANK: Readonly<Record<Exactness, number>> = { exact: 0, proxy: 1, generic: 2 };

/** The best match of several spellings, and the spelling that gave it. */
function resolve<Entry>(
  names: readonly string[],
  lookUp: (name: string) => Match<Entry>,
): { readonly match: Match<Entry>; readonly model?: string } {
  let best: { match: Match<Entry>; model?: string } = { match: lookUp("") };
  for (const model of names) {
    const match = lookUp(model);
    if (best.model === undefined || RANK[match.match] < RANK[best.match.match]) best = { match, model };
  }
  return best;
}

/** The agent may have resolved a name that this catalogue does not know: its key still counts, as close as it said. */
function orAgentsKey<Entry>(
  match: Match<Entry>,
  key: string | undefined,
  exactness: Exactness | undefined,
  lookUp: (name: string) => Match<Entry>,
): Match<Entry> {
  const keyed = match.match === "generic" && key !== undefined ? lookUp(key) : undefined;
  if (keyed?.match !== "exact" || exactness === "generic") return match;
  return { ...keyed, match: exactness ?? "proxy", reason: `the agent resolved it to ${keyed.key}` };
}

const usable = (value: number | undefined): Watts | undefined =>
  value !== undefined && Number.isFinite(value) && value > 0 ? watts(value) : undefined;

function choose<Value>(...claims: readonly (Known<Value> | undefined)[]): Known<Value> | undefined {
  return claims.find((claim) => claim !== undefined);
}
const known = <Value>(value: Value | undefined, from: Origin): Known<Value> | undefined =>
  value === undefined ? undefined : { value, from };

/** Sockets nobody counts: as many as the threads Kubernetes sees fill. A part of a socket (a virtual machine) is one. */
const socketsFor = (entry: CpuEntry | undefined, threads: number | undefined): number | undefined =>
  entry && threads !== undefined
    ? Math.max(1, Math.round(threads / (entry.coresPerSocket.value * entry.threadsPerCore)))
    : undefined;

function coresOf(cpu: NodeIdentity["cpu"], entry: CpuEntry | undefined, sockets: number): Known<number> | undefined {
  const listed = entry && entry.coresPerSocket.value * sockets;
  const threads = cpu.logicalCpus;
  return choose(
    cpu.totalCores,
    cpu.coresPerSocket && known(cpu.coresPerSocket.value * sockets, cpu.coresPerSocket.from),
    // A virtual machine has fewer CPUs than the socket it runs on has cores.
    listed !== undefined && (threads === undefined || listed <= threads.value) ? known(listed, "catalogue") : undefined,
    threads,
  );
}

function cpuView(
  identity: NodeIdentity["cpu"],
  discovered: NodeHardwareStatus | undefined,
  catalogue: Catalogue,
): CpuView {
  const named = resolve(identity.names?.value ?? [], catalogue.cpu);
  const resolution = discovered?.inventoryResolution;
  const match = orAgentsKey(
    named.match,
    resolution?.hardwareCatalogKey?.cpu,
    resolution?.exactness?.cpu,
    catalogue.cpu,
  );
  const { entry } = match;
  const vendor = choose(identity.vendor, known(entry?.vendor, "catalogue"));
  const sockets = choose(identity.sockets, known(socketsFor(entry, identity.logicalCpus?.value), "allocatable")) ?? {
    value: 1,
    from: "fallback" as const,
  };
  const totalCores = coresOf(identity, entry, sockets.value);
  const coresPerSocket = choose(
    identity.coresPerSocket,
    totalCores && known(totalCores.value / sockets.value, totalCores.from),
  );
  const nominalMHz = usable(discovered?.cpu?.landmarks?.nominalFreqMHz);
  const baseGHz = choose(
    known(nominalMHz && nominalMHz / 1000, "discovered"),
    known(entry?.baseGHz.value, "catalogue"),
  ) ?? { value: FALLBACK_BASE_GHZ, from: "fallback" as const };
  const capRange = discovered?.cpu?.capRange;
  const max = choose(
    known(usable(capRange?.maxWattsPerSocket), "discovered"),
    known(entry?.tdp.value, "catalogue"),
  ) ?? { value: watts(fallbackCpuWatts(totalCores?.value) / sockets.value), from: "fallback" as const };
  const min = choose(
    known(usable(capRange?.minWattsPerSocket), "discovered"),
    known(entry?.configurable?.min.value, "catalogue"),
  );
  const idleShare = entry?.curve?.points[0]?.[1];
  const maxWatts = watts(max.value * sockets.value);
  return {
    ...(named.model === undefined ? {} : { model: named.model }),
    key: match.key,
    match: match.match,
    reason: match.reason,
    ...(vendor ? { vendor: vendor.value } : {}),
    sockets: sockets.value,
    ...(coresPerSocket ? { coresPerSocket: coresPerSocket.value } : {}),
    ...(totalCores ? { totalCores: totalCores.value } : {}),
    baseGHz: baseGHz.value,
    maxWattsPerSocket: max.value,
    // A range that discovery and catalogue contradict is narrowed to what the device says it can take.
    ...(min ? { minWattsPerSocket: watts(Math.min(min.value, max.value)) } : {}),
    maxWatts,
    idleWatts: watts(maxWatts * (idleShare ?? FALLBACK_CPU_IDLE_SHARE)),
    ...(entry?.curve ? { curve: entry.curve } : {}),
    from: origins({
      model: identity.names,
      vendor,
      sockets,
      coresPerSocket,
      totalCores,
      baseGHz,
      maxWatts: max,
      minWatts: min,
      idleWatts: { from: idleShare === undefined ? "fallback" : "catalogue" },
    }),
  };
}

function gpuView(
  identity: NodeIdentity["gpu"],
  discovered: NodeHardwareStatus | undefined,
  catalogue: Catalogue,
): GpuView | undefined {
  const { count } = identity;
  if (count === undefined || count.value === 0) return undefined;
  const named = resolve(identity.names?.value ?? [], catalogue.gpu);
  const resolution = discovered?.inventoryResolution;
  const match = orAgentsKey(
    named.match,
    resolution?.hardwareCatalogKey?.gpu,
    resolution?.exactness?.gpu,
    catalogue.gpu,
  );
  const vendor = choose(identity.vendor, known(match.entry?.vendor, "catalogue"));
  const { limits, from } = boardLimits(discovered?.gpu, match.entry, vendor?.value);
  const perf = known(match.entry?.perf.value, "catalogue") ?? { value: slowestPerf, from: "fallback" as const };
  return {
    ...(named.model === undefined ? {} : { model: named.model }),
    key: match.key,
    match: match.match,
    reason: match.reason,
    ...(vendor ? { vendor: vendor.value } : {}),
    count: count.value,
    ...limits,
    perf: perf.value,
    from: { ...origins({ model: identity.names, vendor, count, perf }), ...from },
  };
}

/** An unknown board computes something: as much as the slowest one known, so that more boards still count for more. */
const slowestPerf = Math.min(...builtinCatalogue.gpus.map((entry) => entry.perf.value));

function boardLimits(gpu: GpuHardware | undefined, entry: GpuEntry | undefined, vendor: GpuVendor | undefined) {
  const range = gpu?.capRangePerGpu;
  const max = choose(known(usable(range?.maxWatts), "discovered"), known(entry?.maxWatts.value, "catalogue")) ?? {
    value: fallbackGpuWatts(vendor),
    from: "fallback" as const,
  };
  const normal =
    choose(known(usable(range?.defaultWatts), "discovered"), known(entry?.defaultWatts.value, "catalogue")) ?? max;
  const min = choose(known(usable(range?.minWatts), "discovered"), known(entry?.minWatts.value, "catalogue")) ?? {
    value: watts(0),
    from: "fallback" as const,
  };
  const idle = known(entry?.idleWatts.value, "catalogue") ?? {
    value: watts(max.value * FALLBACK_GPU_IDLE_SHARE),
    from: "fallback" as const,
  };
  const atMost = (value: Watts): Watts => watts(Math.min(value, max.value));
  const minWatts = atMost(min.value);
  return {
    limits: {
      maxWatts: max.value,
      minWatts,
      defaultWatts: watts(Math.max(minWatts, atMost(normal.value))),
      idleWatts: atMost(idle.value),
    },
    from: { maxWatts: max.from, minWatts: min.from, defaultWatts: normal.from, idleWatts: idle.from },
  };
}

function origins<Field extends string>(fields: Record<Field, { readonly from: Origin } | undefined>): Origins<Field> {
  const found: Partial<Record<Field, Origin>> = {};
  for (const name of Object.keys(fields) as Field[]) {
    const origin = fields[name]?.from;
    if (origin !== undefined) found[name] = origin;
  }
  return found;
}
