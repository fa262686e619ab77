/** What kube-scheduler's resource scores read of a node: millicores and bytes. */
export interface KubeResources {
  readonly milliCpu: number;
  readonly memory: number;
}

/** The integer arithmetic of kube-scheduler 1.36: scores range from 0 to 100, and division truncates. */
const MAX_NODE_SCORE = 100;

/** kube-scheduler's LeastAllocated of one resource, after the pod is placed. */
function leastRequested(requested: number, capacity: number): number {
  if (requested > capacity) return 0;
  return Math.trunc(((capacity - requested) * MAX_NODE_SCORE) / capacity);
}

/** NodeResourcesFit with its default strategy LeastAllocated: CPU and memory, weight 1 each. */
export function leastAllocatedScore(allocatable: KubeResources, taken: KubeResources, pod: KubeResources): number {
  let score = 0;
  let weights = 0;
  for (const resource of ["milliCpu", "memory"] as const) {
    if (allocatable[resource] === 0) continue;
    score += leastRequested(taken[resource] + pod[resource], allocatable[resource]);
    weights++;
  }
  return weights === 0 ? 0 : Math.trunc(score / weights);
}

/** NodeResourcesFit with the strategy MostAllocated of CPU and memory, as `joulie scheduler-config --energy` sets it. */
export function mostAllocatedScore(allocatable: KubeResources, taken: KubeResources, pod: KubeResources): number {
  let score = 0;
  let weights = 0;
  for (const resource of ["milliCpu", "memory"] as const) {
    if (allocatable[resource] === 0) continue;
    const requested = Math.min(taken[resource] + pod[resource], allocatable[resource]);
    score += Math.trunc((requested * MAX_NODE_SCORE) / allocatable[resource]);
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
  const least = leastAllocatedScore(allocatable, taken, pod);
  return pod.milliCpu === 0 && pod.memory === 0 ? least : least + balancedAllocationScore(allocatable, taken, pod);
}

/** How many fitting nodes kube-scheduler looks for before it scores them, with its default percentageOfNodesToScore. */
export function nodesToScore(nodes: number): number {
  if (nodes < MIN_FEASIBLE) return nodes;
  const percentage = Math.max(MIN_PERCENTAGE, 50 - Math.trunc(nodes / 125));
  return Math.max(MIN_FEASIBLE, Math.trunc((nodes * percentage) / 100));
}

const MIN_FEASIBLE = 100;
const MIN_PERCENTAGE = 5;
