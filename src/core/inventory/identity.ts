import {
  declaredHardwareLabels,
  type GpuVendor,
  gpuProductLabels,
  gpuResources,
  gpuVendors,
  type Labels,
  type Node,
  type NodeHardwareStatus,
  nfdCpuLabels,
  nfdGpuLabels,
  type ResourceList,
} from "../api/index.ts";
import { parseNumber, parseQuantity } from "../units/index.ts";

/** Who said so. The first four are the order in which a node's identity is believed, field by field. */
export type Origin = "discovered" | "declared" | "nfd" | "allocatable" | "catalogue" | "fallback";

export interface Known<Value> {
  readonly value: Value;
  readonly from: Origin;
}

/** What is said about a node, before the catalogue is asked. A field nobody speaks of is absent. */
export interface NodeIdentity {
  readonly cpu: {
    /** Spellings of one model, all from the same origin. */
    readonly names?: Known<readonly string[]>;
    readonly vendor?: Known<string>;
    readonly sockets?: Known<number>;
    readonly coresPerSocket?: Known<number>;
    readonly totalCores?: Known<number>;
    /** Hardware threads Kubernetes counts as CPUs. */
    readonly logicalCpus?: Known<number>;
  };
  readonly gpu: {
    readonly names?: Known<readonly string[]>;
    readonly vendor?: Known<GpuVendor>;
    /** 0 where a person declares that there are none. */
    readonly count?: Known<number>;
  };
}

/** Beyond this a count is a mistake, not a machine. */
const MOST = 65_536;
/** GPU feature discovery counts boards here while allocatable counts slices. */
const NVIDIA_BOARD_COUNT = "nvidia.com/gpu.count";

type Claim<Value> = readonly [origin: Origin, value: Value | undefined];

/** The first origin that says anything: what is missing or empty erases nothing. */
function firstOf<Value>(...claims: readonly Claim<Value>[]): Known<Value> | undefined {
  for (const [from, value] of claims) if (value !== undefined) return { value, from };
  return undefined;
}

const field = <Name extends string, Value>(name: Name, value: Value | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };

const wholeAbove = (least: number, value: number | undefined): number | undefined =>
  value !== undefined && Number.isInteger(value) && value >= least && value <= MOST ? value : undefined;

function numberIn(labels: Labels, key: string, least = 1): number | undefined {
  const parsed = parseNumber(labels[key]?.trim() ?? "");
  return parsed.ok ? wholeAbove(least, parsed.value) : undefined;
}

function namesOf(...spellings: readonly (string | undefined)[]): readonly string[] | undefined {
  const names = spellings.flatMap((spelling) => (spelling === undefined || spelling.trim() === "" ? [] : [spelling]));
  return names.length === 0 ? undefined : names;
}

/** /proc/cpuinfo, NFD and people each have their own word for a vendor. */
const CPU_VENDORS: Readonly<Record<string, string>> = { genuineintel: "intel", authenticamd: "amd", amazon: "aws" };

function cpuVendor(text: string | undefined): string | undefined {
  const word = text?.trim().toLowerCase() ?? "";
  return word === "" ? undefined : (CPU_VENDORS[word] ?? word);
}

const gpuVendor = (text: string | undefined): GpuVendor | undefined =>
  gpuVendors.find((vendor) => text?.toLowerCase().includes(vendor));

function quantityIn(resources: ResourceList | undefined, name: string): number | undefined {
  const value = resources?.[name];
  if (value === undefined) return undefined;
  const parsed = parseQuantity(String(value));
  return parsed.ok ? wholeAbove(1, Math.ceil(parsed.value)) : undefined;
}

/** Discovered > declared > NFD > allocatable, field by field (CONTRACT 2). */
export function identityOf(
  node: Node,
  discovered: NodeHardwareStatus | undefined,
  productLabelKeys: readonly string[] = gpuProductLabels,
): NodeIdentity {
  const labels = node.metadata.labels ?? {};
  return { cpu: cpuIdentity(node, labels, discovered), gpu: gpuIdentity(node, labels, discovered, productLabelKeys) };
}

function cpuIdentity(node: Node, labels: Labels, discovered: NodeHardwareStatus | undefined): NodeIdentity["cpu"] {
  const cpu = discovered?.cpu;
  const { capacity, allocatable } = node.status ?? {};
  return {
    ...field(
      "names",
      firstOf(
        ["discovered", namesOf(cpu?.rawModel, cpu?.model)],
        ["declared", namesOf(labels[declaredHardwareLabels.cpuModel])],
        ["nfd", namesOf(labels[nfdCpuLabels.model])],
      ),
    ),
    ...field(
      "vendor",
      firstOf(
        ["discovered", cpuVendor(cpu?.vendor)],
        ["nfd", cpuVendor(labels[nfdCpuLabels.vendor]) ?? cpuVendor(labels[nfdCpuLabels.vendorId])],
      ),
    ),
    ...field(
      "sockets",
      firstOf(
        ["discovered", wholeAbove(1, cpu?.sockets)],
        ["declared", numberIn(labels, declaredHardwareLabels.cpuSockets)],
        ["nfd", numberIn(labels, nfdCpuLabels.sockets)],
      ),
    ),
    ...field("coresPerSocket", firstOf(["discovered", wholeAbove(1, cpu?.coresPerSocket)])),
    ...field(
      "totalCores",
      firstOf(
        ["discovered", wholeAbove(1, cpu?.totalCores)],
        ["declared", numberIn(labels, declaredHardwareLabels.cpuCores)],
      ),
    ),
    ...field("logicalCpus", firstOf(["allocatable", quantityIn(capacity, "cpu") ?? quantityIn(allocatable, "cpu")])),
  };
}

function gpuIdentity(
  node: Node,
  labels: Labels,
  discovered: NodeHardwareStatus | undefined,
  productLabelKeys: readonly string[],
): NodeIdentity["gpu"] {
  const gpu = discovered?.gpu;
  const product = productLabelKeys.find((key) => namesOf(labels[key]) !== undefined);
  const resource = gpuResourceOf(node.status?.allocatable) ?? gpuResourceOf(node.status?.capacity);
  const names = firstOf(
    ["discovered", namesOf(gpu?.rawModel, gpu?.model)],
    ["declared", namesOf(labels[declaredHardwareLabels.gpuModel])],
    ["nfd", product === undefined ? undefined : namesOf(...productLabelKeys.map((key) => labels[key]))],
  );
  return {
    ...field("names", names),
    ...field(
      "vendor",
      firstOf(
        ["discovered", gpuVendor(gpu?.vendor)],
        ["nfd", gpuVendor(product?.split("/")[0]) ?? nfdGpuVendor(labels, resource?.vendor)],
        ["allocatable", resource?.vendor],
      ),
    ),
    ...field(
      "count",
      firstOf(
        // An agent that finds none may only lack the driver's library, so none found is nothing said.
        ["discovered", wholeAbove(1, gpu?.count)],
        ["declared", numberIn(labels, declaredHardwareLabels.gpuCount, 0)],
        ["nfd", numberIn(labels, NVIDIA_BOARD_COUNT)],
        ["allocatable", resource?.count],
        // Whoever names a model says that there is at least one.
        [names?.from ?? "discovered", names !== undefined || gpu?.present === true ? 1 : undefined],
      ),
    ),
  };
}

/**
 * PCI devices tell the vendor but not that there is something to compute on: boards have display chips too. Of several
 * vendors it is the one whose devices can be asked for.
 */
function nfdGpuVendor(labels: Labels, countable: GpuVendor | undefined): GpuVendor | undefined {
  const present = gpuVendors.filter((vendor) => nfdGpuLabels[vendor].some((key) => labels[key] === "true"));
  return present.find((vendor) => vendor === countable) ?? present[0];
}

interface GpuResource {
  readonly vendor: GpuVendor;
  readonly count: number;
}

/** The resource with most devices; of equals the first vendor. */
function gpuResourceOf(resources: ResourceList | undefined): GpuResource | undefined {
  let most: GpuResource | undefined;
  for (const vendor of gpuVendors) {
    const count = quantityIn(resources, gpuResources[vendor]);
    if (count !== undefined && count > (most?.count ?? 0)) most = { vendor, count };
  }
  return most;
}
