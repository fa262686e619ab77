import type { Logger } from "./logger.ts";

/** A node that was not observed for this many passes is dropped. Shorter gaps (a failed scrape) are ignored. */
const PASSES_UNTIL_FORGOTTEN = 10;
const MAX_VALUES = 8;
const MAX_NAMES = 3;

interface Fact {
  /** The last logged value; undefined before the first time. */
  said: string | undefined;
  seen: string;
  pass: number;
}

interface Subject {
  readonly facts: Map<string, Fact>;
  /** Counts only passes in which the subject was observed, so that a pass that failed early drops no node. */
  pass: number;
  observed: boolean;
}

/**
 * Logs changes between passes over all nodes: at most one line per subject at info, and none if nothing changed. Otherwise a
 * cluster of 5,000 nodes would write 5,000 lines per tick. The nodes are logged at debug, one line per change.
 */
export class ChangeLog {
  readonly #log: Logger;
  readonly #subjects = new Map<string, Subject>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** `observe("profile", "node-7", "eco")`: the current value. Within a pass the last value counts. */
  observe(subject: string, node: string, value: string): void {
    let about = this.#subjects.get(subject);
    if (about === undefined) this.#subjects.set(subject, (about = { facts: new Map(), pass: 0, observed: false }));
    about.observed = true;
    const fact = about.facts.get(node);
    if (fact === undefined) about.facts.set(node, { said: undefined, seen: value, pass: about.pass });
    else {
      fact.seen = value;
      fact.pass = about.pass;
    }
  }

  /** Drops a node that left. If a node of that name returns, it is logged again. */
  forget(node: string): void {
    for (const { facts } of this.#subjects.values()) facts.delete(node);
  }

  /** Ends a pass: logs what changed since the last one. */
  flush(): void {
    for (const [subject, about] of this.#subjects) {
      if (!about.observed) continue;
      this.#write(subject, collectChanges(about));
      about.pass++;
      about.observed = false;
    }
  }

  /** Number of stored values. */
  get size(): number {
    return [...this.#subjects.values()].reduce((sum, { facts }) => sum + facts.size, 0);
  }

  #write(subject: string, changes: readonly Change[]): void {
    if (changes.length === 0) return;
    if (this.#log.isLevelEnabled("debug")) {
      for (const { node, from, to } of changes)
        this.#log.debug({ subject, node, from, to }, `${subject} of a node changed`);
    }
    const byValue = Map.groupBy(changes, ({ to }) => to);
    const values = [...byValue].toSorted(([, a], [, b]) => b.length - a.length);
    const shown = values.slice(0, MAX_VALUES);
    this.#log.info(
      {
        subject,
        changed: changes.length,
        values: Object.fromEntries(shown.map(([value, nodes]) => [value, nodes.length])),
        ...(values.length > shown.length && { otherValues: values.length - shown.length }),
        nodes: Object.fromEntries(shown.map(([value, nodes]) => [value, firstNames(nodes)])),
      },
      `${subject} changed on ${changes.length === 1 ? "1 node" : `${changes.length} nodes`}`,
    );
  }
}

interface Change {
  readonly node: string;
  readonly from: string | undefined;
  readonly to: string;
}

/** Returns the changes and marks them as logged. Drops nodes that were not observed for long. */
function collectChanges({ facts, pass }: Subject): Change[] {
  const changes: Change[] = [];
  for (const [node, fact] of facts) {
    if (fact.pass <= pass - PASSES_UNTIL_FORGOTTEN) facts.delete(node);
    else if (fact.said !== fact.seen) {
      changes.push({ node, from: fact.said, to: fact.seen });
      fact.said = fact.seen;
    }
  }
  return changes;
}

/** "a, b, c and 9 more" */
function firstNames(changes: readonly Change[]): string {
  const names = changes.slice(0, MAX_NAMES).map(({ node }) => node);
  const more = changes.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
