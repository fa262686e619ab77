import type { Logger } from "./logger.ts";

/** A node that a subject was silent about for so many passes is gone; a shorter gap (a scrape that failed) is none. */
const PASSES_UNTIL_FORGOTTEN = 10;
const MOST_VALUES = 8;
const MOST_NAMES = 3;

interface Fact {
  /** What the log said last; undefined before the first time. */
  said: string | undefined;
  seen: string;
  pass: number;
}

interface Subject {
  readonly facts: Map<string, Fact>;
  /** Counts only the passes in which the subject was observed: a pass that failed early forgets nobody. */
  pass: number;
  observed: boolean;
}

/**
 * What a pass over all nodes found out, told as changes: per subject at most one line at info, and none when nothing changed.
 * A cluster of 5,000 nodes would write 5,000 lines per tick otherwise. Which node it was stands at debug, one line per change.
 */
export class ChangeLog {
  readonly #log: Logger;
  readonly #subjects = new Map<string, Subject>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** `observe("profile", "node-7", "eco")`: how things are now. Within a pass the last word counts. */
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

  /** The node left: should one of its name come back, it is news again. */
  forget(node: string): void {
    for (const { facts } of this.#subjects.values()) facts.delete(node);
  }

  /** Ends a pass: writes what changed since the last one. */
  flush(): void {
    for (const [subject, about] of this.#subjects) {
      if (!about.observed) continue;
      this.#write(subject, collectChanges(about));
      about.pass++;
      about.observed = false;
    }
  }

  /** How many facts are kept. */
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
    const shown = values.slice(0, MOST_VALUES);
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

/** What differs from what was said; from here on it counts as said. Drops the nodes that were not heard of for long. */
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
  const names = changes.slice(0, MOST_NAMES).map(({ node }) => node);
  const more = changes.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
