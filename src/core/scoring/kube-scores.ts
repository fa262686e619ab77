/** What kube-scheduler's resource scores read of a node: millicores and bytes. */
export interface KubeResources {
  readonly milliCpu: number;
  readonly memory: number;
}

/** What kube-scheduler's resource scores assume of a pod that requests nothing. */
const ASSUMED: KubeResources = { milliCpu: 100, memory: 200 * 2 ** 20 };

export const nonZeroRequests = ({ milliCpu, memory }: KubeResources): KubeResources => ({
  milliCpu: milliCpu === 0 ? ASSUMED.milliCpu : milliCpu,
  memory: memory === 0 ? ASSUMED.memory : memory,
});

export const kubeResources = (totals: ReadonlyMap<string, number>): KubeResources => ({
  milliCpu: Math.ceil((totals.get("cpu") ?? 0) * 1000 - 1e-6),
  memory: Math.ceil(totals.get("memory") ?? 0),
});

/** The integer arithmetic of kube-scheduler 1.36: scores range from 0 to 100, and division truncates. */
const MAX_NODE_SCORE = 100;

/** Strategies of NodeResourcesFit: the first one, the default, prefers emptier nodes; `joulie scheduler-config --energy` sets the other. */
export type ScoringStrategy = "LeastAllocated" | "MostAllocated";

/** NodeResourcesFit after the pod is placed: CPU and memory, weight 1 each. */
export function allocationScore(
  allocatable: KubeResources,
  taken: KubeResources,
  pod: KubeResources,
  strategy: ScoringStrategy = "LeastAllocated",
): number {
  let score = 0;
  let weights = 0;
  for (const resource of ["milliCpu", "memory"] as const) {
    const capacity = allocatable[resource];
    if (capacity === 0) continue;
    const used = Math.min(taken[resource] + pod[resource], capacity);
    const preferred = strategy === "MostAllocated" ? used : capacity - used;
    score += Math.trunc((preferred * MAX_NODE_SCORE) / capacity);
    weights++;
  }
  return weights === 0 ? 0 : Math.trunc(score / weights);
}

const fraction = (requested: number, capacity: number): number => Math.min(1, requested / capacity);

/** How even the shares of CPU and memory are; a resource that the node does not have does not count. */
function balance(allocatable: KubeResources, milliCpu: number, memory: number): number {
  if (allocatable.milliCpu === 0 || allocatable.memory === 0) return MAX_NODE_SCORE;
  const deviation = Math.abs((fraction(milliCpu, allocatable.milliCpu) - fraction(memory, allocatable.memory)) / 2);
  return Math.trunc((1 - deviation) * MAX_NODE_SCORE);
}

/** NodeResourcesBalancedAllocation: by how much the pod makes the node more or less even. */
export function balancedAllocationScore(allocatable: KubeResources, taken: KubeResources, pod: KubeResources): number {
  const after = balance(allocatable, taken.milliCpu + pod.milliCpu, taken.memory + pod.memory);
  const before = balance(allocatable, taken.milliCpu, taken.memory);
  return MAX_NODE_SCORE / 2 + Math.trunc((MAX_NODE_SCORE / 2 + after - before) / 2);
}

/**
 * The sum that ranks nodes for a pod without affinities, taints and volumes. Both plugins have weight 1. The others give every
 * node the same score. BalancedAllocation skips a pod that requests neither CPU nor memory.
 */
export function kubeScore(allocatable: KubeResources, taken: KubeResources, pod: KubeResources): number {
  const least = allocationScore(allocatable, taken, pod);
  return pod.milliCpu === 0 && pod.memory === 0 ? least : least + balancedAllocationScore(allocatable, taken, pod);
}

/** How many fitting nodes kube-scheduler looks for before it scores them; without a percentage by its default. */
export function nodesToScore(nodes: number, percentageOfNodesToScore?: number): number {
  if (nodes < MIN_FEASIBLE) return nodes;
  const percentage = percentageOfNodesToScore ?? Math.max(MIN_PERCENTAGE, 50 - Math.trunc(nodes / 125));
  return Math.max(MIN_FEASIBLE, Math.trunc((nodes * percentage) / 100));
}

const MIN_FEASIBLE = 100;
const MIN_PERCENTAGE = 5;
