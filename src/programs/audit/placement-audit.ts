import type { Instant, Milliseconds } from "../../core/units/index.ts";
import type { ClassHistory } from "./class-history.ts";

/** A pod bound to a node. */
export interface BoundPod {
  readonly pod: string;
  readonly node: string;
  /** Resource version of the binding. */
  readonly version: number;
  readonly performance: boolean;
}

/** Results for the rule that performance pods run on performance nodes only. */
export interface PlacementAuditResult {
  /** Placements of performance pods checked so far. */
  readonly performancePods: number;
  /** Violations: the node was published as eco or draining before the extender was called. */
  readonly onEcoOrDraining: number;
  /**
   * Races: the node was published as eco or draining between the extender call and the binding. Such a node keeps its performance
   * caps until the pod ends.
   */
  readonly crossed: number;
  /** The first violations. */
  readonly examples: readonly string[];
}

const EXAMPLES = 5;

/**
 * Compares placements with published classes. Pods and twins arrive on different watches, so each placement waits one
 * round until the other watch has caught up.
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
   * `askedAt` returns when the extender last filtered nodes for the pod. `hearing` returns how much later than this
   * process the extender may receive a publication. Both use simulated time.
   */
  constructor(history: ClassHistory, askedAt: (pod: string) => Instant | undefined, hearing: () => Milliseconds) {
    this.#history = history;
    this.#askedAt = askedAt;
    this.#hearing = hearing;
  }

  add(placement: BoundPod): void {
    this.#waiting.push(placement);
  }

  /** Checks the placements that were added before the previous call. */
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

  #judge({ pod, node, version, performance }: BoundPod): void {
    if (!performance) return;
    this.#performancePods++;
    const published = this.#history.publishedBefore(node, version);
    if (published?.class !== "eco" && published?.class !== "draining") return;
    const asked = this.#askedAt(pod);
    if (asked !== undefined && asked <= published.observedAt + this.#hearing()) this.#crossed++;
    else this.#violated(`${pod} on ${node}, ${published.class}`);
  }

  #violated(example: string): void {
    this.#onEcoOrDraining++;
    if (this.#examples.length < EXAMPLES) this.#examples.push(example);
  }
}
