import { gpuResources, type Labels } from "../api/index.ts";
import { gpuDeviceResources, migProfileOf, migSlicesPerBoard } from "../inventory/index.ts";

/** What a node says about its GPUs. */
export interface GpuNode {
  readonly boards: number;
  readonly labels?: Labels | undefined;
  /** The GPU model where no label names the product. */
  readonly model?: string | undefined;
  /** How many devices of AMD's plugin one board is, where it is made of several dies or cut into partitions. */
  readonly devicesPerBoard?: number | undefined;
}

const wholeDevices: ReadonlySet<string> = new Set(Object.values(gpuDeviceResources).flat());

/** Whether a resource stands for GPUs, whole ones, shared ones or slices. */
export const isGpuResource = (resource: string): boolean =>
  wholeDevices.has(resource) || (resource.startsWith("nvidia.com/") && migProfileOf(resource) !== undefined);

/**
 * How many of a node's boards a pod's GPU requests amount to. A MIG slice is its share of the board it is cut from, a turn on
 * a time-shared board its share where the node says how many take turns, a die or partition its share of the board, and all
 * else a whole board. Never more than the node has.
 */
export function gpuBoardsOn(gpus: ReadonlyMap<string, number>, node: GpuNode): number {
  let boards = 0;
  for (const [resource, count] of gpus) if (isGpuResource(resource)) boards += count * boardsPerUnit(resource, node);
  return Math.min(boards, node.boards > 0 ? node.boards : 0);
}

function boardsPerUnit(resource: string, { labels, model = "", devicesPerBoard = 1 }: GpuNode): number {
  // The device plugin may or may not rename a shared resource; labels carry the plain name either way.
  const plain = resource.replace(/\.shared$/, "");
  const product = labels?.[`${gpuResources.nvidia}.product`] ?? "";
  // Where every board of a node is cut alike, the plain resource counts slices and the product label carries their profile.
  const profile = migProfileOf(plain === gpuResources.nvidia ? product : plain);
  const slice = profile === undefined ? 1 : Math.min(1, profile.slices / migSlicesPerBoard(`${product} ${model}`));
  const die = plain === gpuResources.amd ? 1 / Math.max(1, devicesPerBoard) : 1;
  return (slice * die) / (wholeNumber(labels?.[`${plain}.replicas`]) ?? 1);
}

/** GPU feature discovery writes whole numbers as text; anything else says nothing. */
const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
