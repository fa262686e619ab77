import { gpuResources, type Labels } from "../api/index.ts";
import { gpuDeviceResources, migProfileOf, migSlicesPerBoard } from "../inventory/index.ts";

export interface GpuNode {
  readonly boards: number;
  readonly labels?: Labels | undefined;
  /** The GPU model, if no label names the product. */
  readonly model?: string | undefined;
  /** The number of devices that AMD's plugin reports per board, if it has several dies or partitions. */
  readonly devicesPerBoard?: number | undefined;
}

const wholeDevices: ReadonlySet<string> = new Set(Object.values(gpuDeviceResources).flat());

/** Whether a resource represents GPUs: whole, shared or sliced. */
export const isGpuResource = (resource: string): boolean =>
  wholeDevices.has(resource) || (resource.startsWith("nvidia.com/") && migProfileOf(resource) !== undefined);

/**
 * Converts a pod's GPU requests to boards of this node. A MIG slice and a die or partition count as their share of the
 * board. A replica of a time-shared board counts as its share if the node reports the number of replicas. Everything else
 * counts as a whole board. The result never exceeds the node's boards.
 */
export function gpuBoardsOn(gpus: ReadonlyMap<string, number>, node: GpuNode): number {
  let boards = 0;
  for (const [resource, count] of gpus) if (isGpuResource(resource)) boards += count * boardsPerUnit(resource, node);
  return Math.min(boards, node.boards > 0 ? node.boards : 0);
}

function boardsPerUnit(resource: string, { labels, model = "", devicesPerBoard = 1 }: GpuNode): number {
  // The device plugin may rename a shared resource. Labels always use the plain name.
  const plain = resource.replace(/\.shared$/, "");
  const product = labels?.[`${gpuResources.nvidia}.product`] ?? "";
  // If all boards are cut alike, the plain resource counts slices and the product label contains the profile.
  const profile = migProfileOf(plain === gpuResources.nvidia ? product : plain);
  const slice = profile === undefined ? 1 : Math.min(1, profile.slices / migSlicesPerBoard(`${product} ${model}`));
  const die = plain === gpuResources.amd ? 1 / Math.max(1, devicesPerBoard) : 1;
  return (slice * die) / (wholeNumber(labels?.[`${plain}.replicas`]) ?? 1);
}

/** GPU feature discovery writes integers as text; any other text is ignored. */
const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
