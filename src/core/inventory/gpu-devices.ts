import { type GpuVendor, gpuResources, gpuVendors, type Labels, type ResourceList } from "../api/index.ts";
import type { GpuEntry } from "./catalogue/entry.ts";
import { numberIn, quantityIn } from "./counts.ts";
import { type MigProfile, migDevicesPerBoard } from "./mig.ts";

/** Every resource a vendor's devices are asked for by, the usual one first. Intel's carry the name of the kernel driver. */
export const gpuDeviceResources: Readonly<Record<GpuVendor, readonly string[]>> = {
  nvidia: [gpuResources.nvidia, `${gpuResources.nvidia}.shared`],
  amd: [gpuResources.amd],
  intel: [gpuResources.intel, "gpu.intel.com/xe"],
};

/** What a node hands out of its GPUs: whole boards, or the parts they are cut into. */
export interface GpuDevices {
  readonly count: number;
  /** Where MIG cuts every board alike. */
  readonly mig: { readonly profile: MigProfile; readonly slicesPerBoard: number } | undefined;
  /** How AMD's driver partitions every board: `spx_nps1`, `cpx_nps4`. */
  readonly partition: string | undefined;
}

/** The devices of the vendor that has most of them; of equals the first. */
export function allocatableGpus(
  resources: ResourceList | undefined,
  labels: Labels,
): { readonly vendor: GpuVendor; readonly count: number } | undefined {
  let most: { readonly vendor: GpuVendor; readonly count: number } | undefined;
  for (const vendor of gpuVendors) {
    const count = countOf(vendor, resources, labels);
    if (count > (most?.count ?? 0)) most = { vendor, count };
  }
  return most;
}

const RENAMED = ".shared";
const sharing = (name: string) => {
  const plain = name.endsWith(RENAMED) ? name.slice(0, -RENAMED.length) : name;
  return { name, renamed: name === plain ? `${name}${RENAMED}` : undefined, replicas: `${plain}.replicas` };
};
const SHARING = {
  nvidia: gpuDeviceResources.nvidia.map(sharing),
  amd: gpuDeviceResources.amd.map(sharing),
  intel: gpuDeviceResources.intel.map(sharing),
};

/** Time slicing multiplies what can be allocated by the replicas; a plugin told to renames what it shares, and only that. */
function countOf(vendor: GpuVendor, resources: ResourceList | undefined, labels: Labels): number {
  let count = 0;
  for (const { name, renamed, replicas } of SHARING[vendor]) {
    const units = quantityIn(resources, name);
    if (units === undefined) continue;
    const isShared = renamed === undefined || quantityIn(resources, renamed) === undefined;
    count += Math.ceil(units / ((isShared ? numberIn(labels, replicas) : undefined) ?? 1));
  }
  return count;
}

export function boardsOf(devices: GpuDevices, entry: GpuEntry | undefined): number {
  const { count, mig } = devices;
  const perBoard = mig
    ? migDevicesPerBoard(mig.profile, mig.slicesPerBoard, entry?.memoryGB)
    : partsPerBoard(devices, entry);
  return Math.ceil(count / perBoard);
}

const PARTS: Readonly<Record<string, number>> = { spx: 1, dpx: 2, tpx: 3, qpx: 4 };
/** A baseboard of accelerators carries eight. */
const MOST_PARTITIONED_BOARDS = 8;

/** Devices a board appears as where each of its dies, or each partition of them, is a GPU of its own. */
export function partsPerBoard(devices: GpuDevices | undefined, entry: GpuEntry | undefined): number {
  if (entry?.devicesPerBoard !== undefined) return entry.devicesPerBoard;
  const mode = devices?.partition?.trim().slice(0, 3).toLowerCase();
  const dies = entry?.mostPartitions ?? 1;
  if (mode === "cpx") return dies;
  // The label is written only on demand, so a number of boards that no server holds has to do.
  const implied = Math.ceil((devices?.count ?? 0) / MOST_PARTITIONED_BOARDS);
  return PARTS[mode ?? ""] ?? Math.max(1, Math.min(dies, implied));
}
