import type { SchedulableClass } from "../../core/api/index.ts";
import type { Instant, Milliseconds } from "../../core/units/index.ts";

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

/** A class published for a node, valid from a resource version on. */
interface PublishedClass {
  /** Resource versions are global across kinds: they define the order of events. */
  readonly version: number;
  readonly class: SchedulableClass | undefined;
  /** When the watch delivered it, in simulated time. */
  readonly observedAt: Instant;
}

export interface DrainCounts {
  /** Nodes whose change to eco was deferred because performance pods were running. */
  readonly deferred: number;
  /** Deferred nodes that became eco after their last performance pod ended. */
  readonly completed: number;
  /** Deferred nodes that became performance again before that. */
  readonly takenBack: number;
}

/** Placements are checked within seconds; no node changes its class more often than this in between. */
const REMEMBERED = 32;

/** The classes published for each node over time, as watches of NodeTwins delivered them. */
export class ClassHistory {
  readonly #of = new Map<string, PublishedClass[]>();
  readonly #drains = { deferred: 0, completed: 0, takenBack: 0 };

  record(node: string, published: PublishedClass): void {
    const history = this.#of.get(node) ?? [];
    const before = history.at(-1);
    if (before?.class === published.class) return;
    if (history.length === 0) this.#of.set(node, history);
    history.push(published);
    if (history.length > REMEMBERED) history.shift();
    if (published.class === "draining") this.#drains.deferred++;
    else if (before?.class === "draining" && published.class === "eco") this.#drains.completed++;
    else if (before?.class === "draining") this.#drains.takenBack++;
  }

  forget(node: string): void {
    this.#of.delete(node);
  }

  /** The class that was in effect just before this resource version; undefined if unknown or too old. */
  publishedBefore(node: string, version: number): PublishedClass | undefined {
    return this.#of.get(node)?.findLast((published) => published.version < version);
  }

  /** The current class of a node and when it was published. */
  current(node: string): PublishedClass | undefined {
    return this.#of.get(node)?.at(-1);
  }

  get drains(): DrainCounts {
    return { ...this.#drains };
  }
}
