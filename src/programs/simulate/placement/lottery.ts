import type { RandomSource } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { Field } from "./fields.ts";
import type { Kind } from "./kinds.ts";
import type { NodeFigures } from "./nodes.ts";

/** A stream of its own: with that of the jobs, where a job goes would hang together with how large the next one is. */
export const lotteryRandom = (seed: number): RandomSource => seededRandom(seed + 0.5);

/** The nodes that fit one kind of job, in order, any of them as likely as the other. */
export class Lottery implements Field {
  readonly #nodes: NodeFigures;
  readonly #kind: Kind;
  readonly #random: RandomSource;
  readonly #fitting: Int32Array;
  #count = 0;

  constructor(kind: Kind, nodes: NodeFigures, random: RandomSource) {
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
    return (freeCores[node] as number) >= this.#kind.cores && (freeGpus[node] as number) >= this.#kind.gpus;
  }
}
