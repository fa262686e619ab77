import type { Instant } from "../../core/units/index.ts";
import type { ClassHistory } from "./class-history.ts";

/** A performance pod that was bound to a node. */
export interface Placement {
  readonly pod: string;
  readonly node: string;
  /** The cluster's version that the binding made. */
  readonly version: number;
}

/** What became of the rule that performance pods go to performance nodes only. */
export interface PlacementFigures {
  /** Performance pods that were placed, and looked at. */
  readonly performancePods: number;
  /** Bound to a node that was published as eco or draining by then, and the extender could know. */
  readonly onEcoOrDraining: number;
  /**
   * Bound just after such a publication, by an answer of the extender from before it: such a pod keeps the node's
   * performance caps until it ends.
   */
  readonly crossed: number;
  /** The first ones of the second figure. */
  readonly examples: readonly string[];
}

const EXAMPLES = 5;

/**
 * Holds placements against what was published. They come by different watches, so a placement waits until the other watch
 * has surely told what was true before it.
 */
export class Placements {
  readonly #history: ClassHistory;
  readonly #answeredAt: (pod: string) => Promise<Instant | undefined>;
  #waiting: Placement[] = [];
  #performancePods = 0;
  #onEcoOrDraining = 0;
  #crossed = 0;
  readonly #examples: string[] = [];

  /** `answeredAt`: when the extender last said where the pod may go, in simulated time. */
  constructor(history: ClassHistory, answeredAt: (pod: string) => Promise<Instant | undefined>) {
    this.#history = history;
    this.#answeredAt = answeredAt;
  }

  add(placement: Placement): void {
    this.#waiting.push(placement);
  }

  /** Judges those that were added before the call before this one. */
  async judge(): Promise<void> {
    const due = this.#waiting.splice(0, this.#settled);
    this.#settled = this.#waiting.length;
    for (const placement of due) await this.#judge(placement);
  }
  #settled = 0;

  get figures(): PlacementFigures {
    return {
      performancePods: this.#performancePods,
      onEcoOrDraining: this.#onEcoOrDraining,
      crossed: this.#crossed,
      examples: this.#examples,
    };
  }

  async #judge({ pod, node, version }: Placement): Promise<void> {
    this.#performancePods++;
    const published = this.#history.at(node, version);
    if (published?.class !== "eco" && published?.class !== "draining") return;
    const answered = await this.#answeredAt(pod);
    if (answered !== undefined && answered <= published.seen) {
      this.#crossed++;
      return;
    }
    this.#onEcoOrDraining++;
    if (this.#examples.length < EXAMPLES) this.#examples.push(`${pod} on ${node}, ${published.class}`);
  }
}
