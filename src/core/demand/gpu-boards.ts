import type { Labels } from "../api/index.ts";
import { gpuResourceOf, gpuResourceOfProduct } from "./gpu-resource.ts";

/** What a node says about its GPUs. */
export interface GpuNode {
  readonly boards: number;
  readonly labels?: Labels | undefined;
  /** The GPU model where no label names the product. */
  readonly model?: string | undefined;
}

/**
 * How many of a node's boards a pod's GPU requests amount to. A MIG slice is its share of the board it is cut from, a turn on
 * a time-shared board its share where the node says how many take turns, and all else a whole board. Never more than the
 * node has.
 */
export function gpuBoardsOn(gpus: ReadonlyMap<string, number>, node: GpuNode): number {
  let boards = 0;
  for (const [resource, count] of gpus) boards += count * boardsPerUnit(resource, node);
  return Math.min(boards, node.boards > 0 ? node.boards : 0);
}

const nvidiaGpu = "nvidia.com/gpu";

function boardsPerUnit(resource: string, { labels, model = "" }: GpuNode): number {
  // The device plugin may or may not rename a shared resource; labels carry the plain name either way.
  const plain = resource.replace(/\.shared$/, "");
  const product = labels?.[`${nvidiaGpu}.product`] ?? "";
  const gpu = plain === nvidiaGpu ? gpuResourceOfProduct(product) : gpuResourceOf(resource);
  if (gpu === undefined) return 0;
  const share = gpu.kind === "board" ? 1 : Math.min(1, gpu.slices / slicesPerBoard(`${product} ${model}`));
  return share / (wholeNumber(labels?.[`${plain}.replicas`]) ?? 1);
}

/** The few boards MIG cuts into four; it cuts every other into seven. */
const cutIntoFour = /\bA30\b|RTX.PRO.6000/i;
const slicesPerBoard = (names: string): number => (cutIntoFour.test(names) ? 4 : 7);

/** GPU feature discovery writes whole numbers as text; anything else says nothing. */
const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
