import { type Instant, instant, type Milliseconds } from "../../../core/units/index.ts";

/** A twin that the operator may refresh. */
export interface PublishedTwin {
  readonly name: string;
  readonly lastUpdated: string;
}

interface Known extends PublishedTwin {
  readonly at: Instant;
  /** Its refresh was requested. */
  chosen: boolean;
}

/** After many writes at once, refreshes pause for at most this share of the interval: the rest of it is needed to spread them. */
const MAX_DEBT = 0.25;

/**
 * Decides when unchanged twins are refreshed. Every twin gets an equal share of the interval: with 5,000 twins and 225 s the
 * 22 oldest are refreshed each second. So twins that were all written at once at a start do not come due at once, and no twin
 * is refreshed more often than its interval asks for. Writes for another reason count as well: they refresh a twin, too.
 */
export class Heartbeats {
  readonly #interval: Milliseconds;
  readonly #known = new Map<string, Known>();
  #checkedAt: Instant | undefined;
  /** Refreshes that the shares of the past allow now. */
  #credit = 0;

  constructor(interval: Milliseconds) {
    this.#interval = interval;
  }

  /** Whether this version of the twin must be written again although nothing changed. */
  isDue(name: string, lastUpdated: string, now: Instant): boolean {
    const known = this.#known.get(name);
    if (known?.lastUpdated !== lastUpdated) return this.#isOverdue(instant(Date.parse(lastUpdated)), now);
    return known.chosen || this.#isOverdue(known.at, now);
  }

  /** Names the twins to refresh now: those older than the interval, and the oldest up to the share of the time since the last call. */
  choose(twins: readonly PublishedTwin[], now: Instant): string[] {
    const otherWrites = this.#note(twins);
    const share = (twins.length * Math.max(0, now - (this.#checkedAt ?? now))) / this.#interval;
    this.#checkedAt = now;
    const longestDebt = -MAX_DEBT * twins.length;
    // Saved credit would be spent in one burst.
    this.#credit = Math.max(longestDebt, Math.min(this.#credit, 1) + share - otherWrites);
    const candidates = twins.map(({ name }) => this.#known.get(name)).filter((known) => known?.chosen === false);
    const names: string[] = [];
    for (const known of (candidates as Known[]).toSorted((one, other) => one.at - other.at)) {
      if (this.#credit < 1 && !this.#isOverdue(known.at, now)) continue;
      this.#credit = Math.max(longestDebt, this.#credit - 1);
      known.chosen = true;
      names.push(known.name);
    }
    return names;
  }

  keepOnly(nodes: { has(name: string): boolean }): void {
    for (const name of this.#known.keys()) if (!nodes.has(name)) this.#known.delete(name);
  }

  /** Remembers the versions; returns how many twins were written that were not chosen. */
  #note(twins: readonly PublishedTwin[]): number {
    let otherWrites = 0;
    for (const { name, lastUpdated } of twins) {
      const known = this.#known.get(name);
      if (known?.lastUpdated === lastUpdated) continue;
      if (known !== undefined && !known.chosen) otherWrites++;
      this.#known.set(name, { name, lastUpdated, at: instant(Date.parse(lastUpdated)), chosen: false });
    }
    return otherWrites;
  }

  /** A time that is invalid, or so far in the future that the clock of its writer was wrong, counts as overdue. */
  #isOverdue(at: Instant, now: Instant): boolean {
    return !(now > at - this.#interval && now < at + this.#interval);
  }
}
