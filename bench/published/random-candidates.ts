import type { RandomSource } from "../../src/core/units/index.ts";
import { admits, type JobKindRequest, type PlacementNodes } from "../../src/programs/simulate/placement/job-kinds.ts";
import type { FittingNodes } from "./candidates.ts";

/** The nodes that fit one kind of job, chosen with equal probability. */
export class RandomCandidates implements FittingNodes {
  readonly #nodes: PlacementNodes;
  readonly #kind: JobKindRequest;
  readonly #random: RandomSource;
  readonly #fitting: Int32Array;
  #count = 0;

  constructor(kind: JobKindRequest, nodes: PlacementNodes, random: RandomSource) {
    this.#kind = kind;
    this.#nodes = nodes;
    this.#random = random;
    this.#fitting = new Int32Array(nodes.count);
  }

  rebuild(): void {
    this.#count = 0;
    for (let node = 0; node < this.#nodes.count; node++) if (this.#fits(node)) this.#fitting[this.#count++] = node;
  }

  update(node: number): void {
    let place = 0;
    let end = this.#count;
    while (place < end) {
      const middle = (place + end) >> 1;
      if ((this.#fitting[middle] as number) < node) place = middle + 1;
      else end = middle;
    }
    const listed = place < this.#count && this.#fitting[place] === node;
    if (this.#fits(node) === listed) return;
    if (listed) {
      this.#fitting.copyWithin(place, place + 1, this.#count);
      this.#count--;
    } else {
      this.#fitting.copyWithin(place + 1, place, this.#count);
      this.#fitting[place] = node;
      this.#count++;
    }
  }

  pick(): number {
    return this.#count === 0 ? -1 : (this.#fitting[Math.floor(this.#random.next() * this.#count)] as number);
  }

  #fits(node: number): boolean {
    const { freeCores, freeGpus } = this.#nodes;
    const { cores, gpus } = this.#kind;
    const fits = (freeCores[node] as number) >= cores && (freeGpus[node] as number) >= gpus;
    return fits && admits(this.#nodes, node, this.#kind);
  }
}
