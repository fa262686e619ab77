import { bestNode, fits, type Placement, type PlacementNodes } from "./job-kinds.ts";

export function fillingPlacement(nodes: PlacementNodes, first: "most" | "least"): Placement {
  const sign = first === "most" ? 1 : -1;
  const filledShare = (node: number): number => {
    const { cores, gpus } = nodes.shape(node);
    const freeCores = nodes.freeCores[node] as number;
    const freeGpus = nodes.freeGpus[node] as number;
    return (cores - freeCores) / cores + (gpus > 0 ? (gpus - freeGpus) / gpus : 0);
  };
  return (kind) => bestNode(nodes.count, (node) => (fits(nodes, node, kind) ? sign * filledShare(node) : -Infinity));
}
