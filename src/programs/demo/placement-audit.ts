import type { Instant, Milliseconds } from "../../core/units/index.ts";
import type { ClassHistory } from "./class-history.ts";

/** A performance pod that was bound to a node. */
export interface BoundPod {
  readonly pod: string;
  readonly node: string;
  /** The cluster's version that the binding made. */
  readonly version: number;
}

/** What became of the rule that performance pods go to performance nodes only. */
export interface PlacementAuditResult {
  /** Performance pods that were placed, and looked at. */
  readonly performancePods: number;
  /** Bound to a node that was published as eco or draining by then, though the extender was asked after that. */
  readonly onEcoOrDraining: number;
  /**
   * Bound just after such a publication, by a question to the extender from before it: such a pod keeps the node's
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
export class PlacementAudit {
  readonly #history: ClassHistory;
  readonly #askedAt: (pod: string) => Instant | undefined;
  readonly #hearing: () => Milliseconds;
  #waiting: BoundPod[] = [];
  #performancePods = 0;
  #onEcoOrDraining = 0;
  #crossed = 0;
  readonly #examples: string[] = [];

  /**
   * `askedAt`: when the extender was last asked where the pod may go. `hearing`: how much later than we the extender may
   * hear of a publication. Both in simulated time.
   */
  constructor(history: ClassHistory, askedAt: (pod: string) => Instant | undefined, hearing: () => Milliseconds) {
    this.#history = history;
    this.#askedAt = askedAt;
    this.#hearing = hearing;
  }

  add(placement: BoundPod): void {
    this.#waiting.push(placement);
  }

  /** Judges those that were added before the call before this one. */
  judge(): void {
    const due = this.#waiting.splice(0, this.#settled);
    this.#settled = this.#waiting.length;
    for (const placement of due) this.#judge(placement);
  }
  #settled = 0;

  get figures(): PlacementAuditResult {
    return {
      performancePods: this.#performancePods,
      onEcoOrDraining: this.#onEcoOrDraining,
      crossed: this.#crossed,
      examples: this.#examples,
    };
  }

  #judge({ pod, node, version }: BoundPod): void {
    this.#performancePods++;
    const published = this.#history.publishedBefore(node, version);
    if (published?.class !== "eco" && published?.class !== "draining") return;
    const asked = this.#askedAt(pod);
    if (asked !== undefined && asked <= published.seen + this.#hearing()) {
      this.#crossed++;
      return;
    }
    this.#onEcoOrDraining++;
    if (this.#examples.length < EXAMPLES) this.#examples.push(`${pod} on ${node}, ${published.class}`);
  }
}
