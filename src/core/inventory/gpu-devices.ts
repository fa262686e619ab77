import { type GpuVendor, gpuResources, gpuVendors, type Labels, type ResourceList } from "../api/index.ts";
import { parseNumber, parseQuantity } from "../units/index.ts";
import type { GpuEntry } from "./catalogue-entry.ts";

/** The resource names of each vendor's GPUs, the usual one first. Intel's contain the name of the kernel driver. */
export const gpuDeviceResources: Readonly<Record<GpuVendor, readonly string[]>> = {
  nvidia: [gpuResources.nvidia, `${gpuResources.nvidia}.shared`],
  amd: [gpuResources.amd],
  intel: [gpuResources.intel, "gpu.intel.com/xe"],
};

/** The GPU devices that a node offers: whole boards or parts of them. */
export interface GpuDevices {
  readonly count: number;
  /** Set if MIG cuts every board alike. */
  readonly mig: { readonly profile: MigProfile; readonly slicesPerBoard: number } | undefined;
  /** The partition mode of AMD's driver for every board: `spx_nps1`, `cpx_nps4`. */
  readonly partition: string | undefined;
}

/** The devices of the vendor with the most devices; the first vendor on a tie. */
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

/** Time slicing multiplies the allocatable count by the replicas. The plugin renames the shared resource only if configured to. */
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
/** A baseboard has eight accelerators. */
const MAX_PARTITIONED_BOARDS = 8;

/** The number of devices per board, if each die or partition is a GPU of its own. */
export function partsPerBoard(devices: GpuDevices | undefined, entry: GpuEntry | undefined): number {
  if (entry?.devicesPerBoard !== undefined) return entry.devicesPerBoard;
  const mode = devices?.partition?.trim().slice(0, 3).toLowerCase();
  const dies = entry?.maxPartitions ?? 1;
  if (mode === "cpx") return dies;
  // The partition label is optional. Without it, infer partitions from a board count that no server has.
  const implied = Math.ceil((devices?.count ?? 0) / MAX_PARTITIONED_BOARDS);
  return PARTS[mode ?? ""] ?? Math.max(1, Math.min(dies, implied));
}

/** Larger counts are treated as errors. */
const MAX_COUNT = 65_536;

export const wholeAbove = (least: number, value: number | undefined): number | undefined =>
  value !== undefined && Number.isInteger(value) && value >= least && value <= MAX_COUNT ? value : undefined;

export function numberIn(labels: Labels, key: string, least = 1): number | undefined {
  const text = labels[key]?.trim();
  if (text === undefined) return undefined;
  const parsed = parseNumber(text);
  return parsed.ok ? wholeAbove(least, parsed.value) : undefined;
}

export function quantityIn(resources: ResourceList | undefined, name: string): number | undefined {
  const value = resources?.[name];
  if (value === undefined) return undefined;
  const parsed = parseQuantity(String(value));
  return parsed.ok ? wholeAbove(1, Math.ceil(parsed.value)) : undefined;
}

/** A MIG profile: `1g.5gb` is an instance of one slice, `1c.3g.20gb` one compute slice of an instance of three. */
export interface MigProfile {
  /** Compute slices of the device. */
  readonly slices: number;
  readonly instanceSlices: number;
  readonly instanceGB: number;
}

const PROFILE = /(?:^nvidia\.com\/|-)mig-(?:([1-9]\d?)c\.)?([1-9]\d?)g\.([1-9]\d{0,3})gb(?:\.[a-z.]+)?(?:-shared)?$/i;

/** The MIG profile in a resource name (`nvidia.com/mig-1g.5gb`) or product name (`NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`). */
export function migProfileOf(name: string): MigProfile | undefined {
  const found = PROFILE.exec(name);
  if (found === null) return undefined;
  const instanceSlices = Number(found[2]);
  return { slices: Number(found[1] ?? instanceSlices), instanceSlices, instanceGB: Number(found[3]) };
}

/** The boards with fewer than seven slices, from NVIDIA's list. */
const FEWER_SLICES: readonly (readonly [board: RegExp, slices: number])[] = [
  [/\bA30\b|\bRTX.PRO.6000\b/i, 4],
  [/\bRTX.PRO.(?:5000|4500)\b/i, 2],
];

/** The number of slices of a board, by any of its names. */
export const migSlicesPerBoard = (name: string): number => FEWER_SLICES.find(([board]) => board.test(name))?.[1] ?? 7;

/** The number of devices of one profile that fit on a board, limited by its slices and for some profiles by its memory. */
export function migDevicesPerBoard(profile: MigProfile, slicesPerBoard: number, boardGB: number | undefined): number {
  const { slices, instanceSlices, instanceGB } = profile;
  const byCompute = Math.floor(slicesPerBoard / instanceSlices);
  // The profile name rounds the memory: four of 24 GB fit on 94.
  const byMemory = boardGB === undefined ? byCompute : Math.round(boardGB / instanceGB);
  return Math.max(1, Math.min(byCompute, byMemory)) * Math.max(1, Math.floor(instanceSlices / slices));
}
