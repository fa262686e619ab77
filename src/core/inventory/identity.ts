import {
  archLabel,
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
import {
  allocatableGpus,
  type GpuDevices,
  migProfileOf,
  migSlicesPerBoard,
  numberIn,
  quantityIn,
  wholeAbove,
} from "./gpu-devices.ts";
import type { VendorClaim } from "./resolution.ts";

/** The identity of a node's hardware before the catalogue lookup. Unknown fields are undefined. */
export interface NodeIdentity {
  readonly cpu: {
    /** Spellings of one model, all from the same origin. */
    readonly names: readonly string[] | undefined;
    readonly vendor: VendorClaim<string> | undefined;
    readonly sockets: number | undefined;
    readonly coresPerSocket: number | undefined;
    readonly totalCores: number | undefined;
    /** Hardware threads, which Kubernetes counts as CPUs. */
    readonly logicalCpus: number | undefined;
    /** The assumed threads per core of an unknown model. */
    readonly likelyThreadsPerCore: number;
  };
  readonly gpu: {
    readonly names: readonly string[] | undefined;
    readonly vendor: VendorClaim<GpuVendor> | undefined;
    /** Number of boards that was discovered or declared; 0 if a user declares that there are none. */
    readonly boards: number | undefined;
    /** Devices according to labels and Kubernetes; the model determines how many of them form a board. */
    readonly devices: GpuDevices | undefined;
  };
}

/** GPU feature discovery counts boards here, or MIG slices if the product label contains a MIG profile. */
const NVIDIA_COUNT = "nvidia.com/gpu.count";
const NVIDIA_PRODUCT = "nvidia.com/gpu.product";
const AMD_PARTITION = "amd.com/compute-memory-partition";

const saysSomething = (text: string | undefined): text is string => text !== undefined && text.trim() !== "";

function namesOf(...spellings: readonly (string | undefined)[]): readonly string[] | undefined {
  const names = spellings.filter(saysSomething);
  return names.length === 0 ? undefined : names;
}

/** Vendor names as /proc/cpuinfo, NFD and users spell them. */
const CPU_VENDORS: Readonly<Record<string, string>> = { genuineintel: "intel", authenticamd: "amd", amazon: "aws" };

function cpuVendor(text: string | undefined): string | undefined {
  const word = text?.trim().toLowerCase() ?? "";
  return word === "" ? undefined : (CPU_VENDORS[word] ?? word);
}

const gpuVendor = (text: string | undefined): GpuVendor | undefined =>
  gpuVendors.find((vendor) => text?.toLowerCase().includes(vendor));

/** Precedence by field: discovered > declared > NFD > allocatable (CONTRACT 2). */
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
    names:
      namesOf(cpu?.rawModel, cpu?.model) ??
      namesOf(labels[declaredHardwareLabels.cpuModel]) ??
      namesOf(labels[nfdCpuLabels.model]),
    vendor: vendorClaim(
      cpuVendor(cpu?.vendor),
      cpuVendor(labels[nfdCpuLabels.vendor]) ?? cpuVendor(labels[nfdCpuLabels.vendorId]),
    ),
    sockets:
      wholeAbove(1, cpu?.sockets) ??
      numberIn(labels, declaredHardwareLabels.cpuSockets) ??
      numberIn(labels, nfdCpuLabels.sockets),
    coresPerSocket: wholeAbove(1, cpu?.coresPerSocket),
    totalCores: wholeAbove(1, cpu?.totalCores) ?? numberIn(labels, declaredHardwareLabels.cpuCores),
    logicalCpus: quantityIn(capacity, "cpu") ?? quantityIn(allocatable, "cpu"),
    likelyThreadsPerCore: labels[archLabel] === "arm64" ? 1 : 2,
  };
}

function gpuIdentity(
  node: Node,
  labels: Labels,
  discovered: NodeHardwareStatus | undefined,
  productLabelKeys: readonly string[],
): NodeIdentity["gpu"] {
  const gpu = discovered?.gpu;
  const product = productLabelKeys.find((key) => saysSomething(labels[key]));
  const allocatable =
    allocatableGpus(node.status?.allocatable, labels) ?? allocatableGpus(node.status?.capacity, labels);
  const names =
    namesOf(gpu?.rawModel, gpu?.model) ??
    namesOf(labels[declaredHardwareLabels.gpuModel]) ??
    namesOf(...productLabelKeys.map((key) => labels[key]));
  const devices =
    devicesOf(numberIn(labels, NVIDIA_COUNT), "nvidia", labels) ??
    devicesOf(allocatable?.count, allocatable?.vendor, labels);
  return {
    names,
    vendor: vendorClaim(
      gpuVendor(gpu?.vendor),
      gpuVendor(product?.split("/")[0]) ?? nfdGpuVendor(labels, allocatable?.vendor) ?? allocatable?.vendor,
    ),
    boards:
      // An agent that finds no GPU may only lack the driver's library, so a count of 0 is ignored.
      wholeAbove(1, gpu?.count) ??
      numberIn(labels, declaredHardwareLabels.gpuCount, 0) ??
      // A declared model implies at least one board.
      (devices === undefined && (names !== undefined || gpu?.present === true) ? 1 : undefined),
    devices,
  };
}

const vendorClaim = <Vendor>(
  discovered: Vendor | undefined,
  labelled: Vendor | undefined,
): VendorClaim<Vendor> | undefined => {
  const vendor = discovered ?? labelled;
  return vendor === undefined ? undefined : { vendor, isDiscovered: discovered !== undefined };
};

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
 * A PCI device identifies the vendor but does not prove that there is a compute GPU: mainboards have display chips too. With
 * several vendors it is the one whose devices are allocatable.
 */
function nfdGpuVendor(labels: Labels, countable: GpuVendor | undefined): GpuVendor | undefined {
  const present = gpuVendors.filter((vendor) => nfdGpuLabels[vendor].some((key) => labels[key] === "true"));
  return present.find((vendor) => vendor === countable) ?? present[0];
}
