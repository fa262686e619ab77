import { type KubeResources, kubeScore, nodesToScore } from "../../../core/scoring/index.ts";
import type { RandomSource } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { fits, type JobKindRequest, type PlacementNodes } from "./job-kinds.ts";

/** A stream of its own: with the jobs' stream, placement would correlate with the next job's size. */
export const placementRandom = (seed: number): RandomSource => seededRandom(seed + 0.5);

/** Traces know no memory. Jobs request, and nodes have, this much for each core, so that memory never decides alone. */
const MEMORY_PER_CORE = 4 * 2 ** 30;

const resourcesOf = (cores: number): KubeResources => ({
  milliCpu: Math.round(cores * 1000),
  memory: Math.round(cores * MEMORY_PER_CORE),
});

/** kube-scheduler's defaults: searches from where the last search ended, scores a sample, draws one of the best. */
export class KubeDefaultScheduler {
  readonly #nodes: PlacementNodes;
  readonly #random: RandomSource;
  readonly #allocatable: readonly KubeResources[];
  readonly #limit: number;
  #start = 0;

  constructor(nodes: PlacementNodes, random: RandomSource) {
    this.#nodes = nodes;
    this.#random = random;
    this.#allocatable = Array.from({ length: nodes.count }, (_, node) => resourcesOf(nodes.shape(node).cores));
    this.#limit = nodesToScore(nodes.count);
  }

  place(kind: JobKindRequest): number {
    const { count, freeCores } = this.#nodes;
    const pod = resourcesOf(kind.cores);
    let best = -1;
    let highest = -1;
    let equals = 0;
    let found = 0;
    let seen = 0;
    for (; seen < count && found < this.#limit; seen++) {
      const node = (this.#start + seen) % count;
      if (!fits(this.#nodes, node, kind)) continue;
      found++;
      const allocatable = this.#allocatable[node] as KubeResources;
      const taken = this.#nodes.shape(node).cores - (freeCores[node] as number);
      const score = kubeScore(allocatable, resourcesOf(taken), pod);
      if (score < highest) continue;
      equals = score > highest ? 1 : equals + 1;
      highest = score;
      // Each of the equals so far is chosen with the same probability.
      if (equals === 1 || this.#random.next() * equals < 1) best = node;
    }
    this.#start = (this.#start + seen) % count;
    return best;
  }
}
