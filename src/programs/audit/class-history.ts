import type { SchedulableClass } from "../../core/api/index.ts";
import type { Instant } from "../../core/units/index.ts";

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
