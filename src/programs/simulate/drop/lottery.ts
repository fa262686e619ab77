import type { RandomSource } from "../../../core/units/index.ts";
import type { Field } from "./fields.ts";
import type { Kind } from "./kinds.ts";
import type { NodeColumns } from "./nodes.ts";

/** The nodes that fit one kind of job, in order, any of them as likely as the other. */
export class Lottery implements Field {
  readonly #nodes: NodeColumns;
  readonly #kind: Kind;
  readonly #random: RandomSource;
  readonly #fitting: Int32Array;
  #count = 0;

  constructor(kind: Kind, nodes: NodeColumns, random: RandomSource) {
    this.#kind = kind;
    this.#nodes = nodes;
    this.#random = random;
    this.#fitting = new Int32Array(nodes.count);
  }

  rebuild(): void {
    this.#count = 0;
    for (let node = 0; node < this.#nodes.count; node++) if (this.#fits(node)) this.#fitting[this.#count++] = node;
  }

  /** Only ever because a job was placed there: a node that did not fit still does not. */
  update(node: number): void {
    if (this.#fits(node)) return;
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#fitting[middle] as number) < node) low = middle + 1;
      else high = middle;
    }
    if (low === this.#count || this.#fitting[low] !== node) return;
    this.#fitting.copyWithin(low, low + 1, this.#count);
    this.#count--;
  }

  pick(): number {
    return this.#count === 0 ? -1 : (this.#fitting[Math.floor(this.#random.next() * this.#count)] as number);
  }

  #fits(node: number): boolean {
    const { freeCores, freeGpus } = this.#nodes;
    return (freeCores[node] as number) >= this.#kind.cores && (freeGpus[node] as number) >= this.#kind.gpus;
  }
}
