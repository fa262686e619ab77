import type { SchedulableClass } from "../../core/api/index.ts";
import type { Instant } from "../../core/units/index.ts";

/** A node's published class, from a version of the cluster on. */
interface PublishedClass {
  /** Versions count over all kinds: they are the order in which things became true. */
  readonly version: number;
  readonly class: SchedulableClass | undefined;
  /** When a watch told of it, in simulated time. */
  readonly seen: Instant;
}

export interface DrainCounts {
  /** Nodes that were to go to eco while performance pods were on them. */
  readonly deferred: number;
  /** Of those, nodes that went to eco when the last of the pods had ended. */
  readonly completed: number;
  /** Of those, nodes that were needed again before. */
  readonly takenBack: number;
}

/** A placement is looked at seconds after it was made: a node does not change its class more often in between. */
const REMEMBERED = 32;

/** Which class each node was published with, and when: from NodeTwins as watches showed them. */
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

  /** What was published when the cluster was at this version; undefined where nothing was, or it is too long ago. */
  publishedBefore(node: string, version: number): PublishedClass | undefined {
    return this.#of.get(node)?.findLast((published) => published.version < version);
  }

  /** Since when a node has had the class it has. */
  current(node: string): PublishedClass | undefined {
    return this.#of.get(node)?.at(-1);
  }

  get drains(): DrainCounts {
    return { ...this.#drains };
  }
}
