import {
  declaredHardwareLabels,
  type GpuVendor,
  gpuProductLabels,
  gpuVendors,
  type Labels,
  type Node,
  type NodeHardwareStatus,
  nfdCpuLabels,
  nfdGpuLabels,
} from "../api/index.ts";
import { numberIn, quantityIn, wholeAbove } from "./counts.ts";
import { allocatableGpus, type GpuDevices } from "./gpu-devices.ts";
import { migProfileOf, migSlicesPerBoard } from "./mig.ts";

/** Who said so. The first four are the order in which a node's identity is believed, field by field. */
export type Origin = "discovered" | "declared" | "nfd" | "allocatable" | "catalogue" | "fallback";

export interface Known<Value> {
  readonly value: Value;
  readonly from: Origin;
}

/** What is said about a node, before the catalogue is asked. A field nobody speaks of is undefined. */
export interface NodeIdentity {
  readonly cpu: {
    /** Spellings of one model, all from the same origin. */
    readonly names: Known<readonly string[]> | undefined;
    readonly vendor: Known<string> | undefined;
    readonly sockets: Known<number> | undefined;
    readonly coresPerSocket: Known<number> | undefined;
    readonly totalCores: Known<number> | undefined;
    /** Hardware threads Kubernetes counts as CPUs. */
    readonly logicalCpus: Known<number> | undefined;
  };
  readonly gpu: {
    readonly names: Known<readonly string[]> | undefined;
    readonly vendor: Known<GpuVendor> | undefined;
    /** Boards somebody counted; 0 where a person declares that there are none. */
    readonly boards: Known<number> | undefined;
    /** What labels and Kubernetes count; the model says how many of them a board is. */
    readonly devices: Known<GpuDevices> | undefined;
  };
}

/** GPU feature discovery counts boards here, or what MIG cut them into where the product beside it carries the profile. */
const NVIDIA_COUNT = "nvidia.com/gpu.count";
const NVIDIA_PRODUCT = "nvidia.com/gpu.product";
const AMD_PARTITION = "amd.com/compute-memory-partition";

type Claim<Value> = readonly [origin: Origin, value: Value | undefined];

/** The first origin that says anything: what is missing or empty erases nothing. */
function firstOf<Value>(...claims: readonly Claim<Value>[]): Known<Value> | undefined {
  for (const [from, value] of claims) if (value !== undefined) return { value, from };
  return undefined;
}

function namesOf(...spellings: readonly (string | undefined)[]): readonly string[] | undefined {
  const names = spellings.filter((spelling) => spelling !== undefined && spelling.trim() !== "") as string[];
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
    names: firstOf(
      ["discovered", namesOf(cpu?.rawModel, cpu?.model)],
      ["declared", namesOf(labels[declaredHardwareLabels.cpuModel])],
      ["nfd", namesOf(labels[nfdCpuLabels.model])],
    ),
    vendor: firstOf(
      ["discovered", cpuVendor(cpu?.vendor)],
      ["nfd", cpuVendor(labels[nfdCpuLabels.vendor]) ?? cpuVendor(labels[nfdCpuLabels.vendorId])],
    ),
    sockets: firstOf(
      ["discovered", wholeAbove(1, cpu?.sockets)],
      ["declared", numberIn(labels, declaredHardwareLabels.cpuSockets)],
      ["nfd", numberIn(labels, nfdCpuLabels.sockets)],
    ),
    coresPerSocket: firstOf(["discovered", wholeAbove(1, cpu?.coresPerSocket)]),
    totalCores: firstOf(
      ["discovered", wholeAbove(1, cpu?.totalCores)],
      ["declared", numberIn(labels, declaredHardwareLabels.cpuCores)],
    ),
    logicalCpus: firstOf(["allocatable", quantityIn(capacity, "cpu") ?? quantityIn(allocatable, "cpu")]),
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
  const allocatable =
    allocatableGpus(node.status?.allocatable, labels) ?? allocatableGpus(node.status?.capacity, labels);
  const names = firstOf(
    ["discovered", namesOf(gpu?.rawModel, gpu?.model)],
    ["declared", namesOf(labels[declaredHardwareLabels.gpuModel])],
    ["nfd", product === undefined ? undefined : namesOf(...productLabelKeys.map((key) => labels[key]))],
  );
  const devices = firstOf(
    ["nfd", devicesOf(numberIn(labels, NVIDIA_COUNT), "nvidia", labels)],
    ["allocatable", devicesOf(allocatable?.count, allocatable?.vendor, labels)],
  );
  return {
    names,
    vendor: firstOf(
      ["discovered", gpuVendor(gpu?.vendor)],
      ["nfd", gpuVendor(product?.split("/")[0]) ?? nfdGpuVendor(labels, allocatable?.vendor)],
      ["allocatable", allocatable?.vendor],
    ),
    boards: firstOf(
      // An agent that finds none may only lack the driver's library, so none found is nothing said.
      ["discovered", wholeAbove(1, gpu?.count)],
      ["declared", numberIn(labels, declaredHardwareLabels.gpuCount, 0)],
      // Whoever names a model says that there is at least one.
      [names?.from ?? "discovered", !devices && (names !== undefined || gpu?.present === true) ? 1 : undefined],
    ),
    devices,
  };
}

function devicesOf(count: number | undefined, vendor: GpuVendor | undefined, labels: Labels): GpuDevices | undefined {
  if (count === undefined) return undefined;
  const product = labels[NVIDIA_PRODUCT] ?? "";
  const profile = vendor === "nvidia" ? migProfileOf(product) : undefined;
  return {
    count,
    mig: profile && { profile, slicesPerBoard: migSlicesPerBoard(product) },
    partition: vendor === "amd" ? labels[AMD_PARTITION] : undefined,
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
