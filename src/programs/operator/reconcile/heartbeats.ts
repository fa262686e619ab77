import { type Instant, instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";

export interface PublishedTwin {
  readonly name: string;
  readonly lastUpdated: string;
  /** It is refreshed only if it is overdue. */
  readonly canWait?: boolean;
}

interface Known extends PublishedTwin {
  readonly at: Instant;
  readonly changes: number;
  chosenAt: Instant | undefined;
}

/** A twin that changed this often without a refresh in between will change again before it needs one. */
const CHANGES_OF_A_BUSY_NODE = 4;
const MAX_CHECK = 5000;
/** A request is repeated after this share of the interval, because it is lost if the stop annotation comes first. */
const RETRY_AFTER = 0.1;

export const heartbeatCheck = (interval: Milliseconds): Milliseconds =>
  milliseconds(Math.min(MAX_CHECK, interval / 10));

export interface HeartbeatOptions {
  readonly interval: Milliseconds;
  /** For twins whose agents refresh them: the operator steps in when an agent is late. */
  readonly agentInterval: Milliseconds;
  readonly isFromAgent: (lastUpdated: string) => boolean;
}

/**
 * Decides when unchanged twins are refreshed: after the interval, or earlier if too many would come due together. So 5,000
 * twins that were all written at once are refreshed one after the other from then on, and none more than once per interval.
 * Twins that their agents refresh are left to them, until an agent is late.
 */
export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #checkInterval: Milliseconds;
  readonly #known = new Map<string, Known>();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#checkInterval = heartbeatCheck(options.interval);
  }

  /** Whether this version of the twin must be written again although nothing changed. */
  isDue(name: string, lastUpdated: string, now: Instant): boolean {
    const known = this.#known.get(name);
    const at = instant(Date.parse(lastUpdated));
    const isChosen = known?.lastUpdated === lastUpdated && known.chosenAt !== undefined;
    return isChosen || this.#isOverdue({ lastUpdated, at }, now);
  }

  choose(twins: readonly PublishedTwin[], now: Instant): string[] {
    const candidates: Known[] = [];
    const waiting = new Set<string>();
    for (const twin of twins) {
      if (twin.canWait === true) waiting.add(twin.name);
      let known = this.#known.get(twin.name);
      if (known?.lastUpdated !== twin.lastUpdated) {
        const changes = known === undefined || known.chosenAt !== undefined ? 0 : known.changes + 1;
        known = { ...twin, at: instant(Date.parse(twin.lastUpdated)), changes, chosenAt: undefined };
        this.#known.set(twin.name, known);
      }
      if (!this.#isRequested(known, now)) candidates.push(known);
    }
    // A time that is invalid or far in the future counts as overdue.
    const overdue = candidates.filter((twin) => this.#isOverdue(twin, now));
    const later = candidates
      .filter((twin) => !waiting.has(twin.name) && twin.changes < CHANGES_OF_A_BUSY_NODE)
      .filter((twin) => !this.#isOverdue(twin, now))
      .toSorted((one, other) => one.at - other.at);
    const early = later.slice(0, this.#earlyRefreshes(later, overdue.length, now));
    return [...overdue, ...early].map((known) => {
      known.chosenAt = now;
      return known.name;
    });
  }

  /** How many of the twins, which are sorted by age, are refreshed before their interval has passed. */
  #earlyRefreshes(later: readonly Known[], overdue: number, now: Instant): number {
    let perMs = 0;
    // The rate at which the first n twins are refreshed by the check after their interval, for every n.
    for (const [index, { at }] of later.entries()) {
      const left = at + this.#options.interval + this.#checkInterval - now;
      perMs = Math.max(perMs, (overdue + index + 1) / left);
    }
    return Math.max(0, Math.floor(perMs * this.#checkInterval) - overdue);
  }

  keepOnly(nodes: { has(name: string): boolean }): void {
    for (const name of this.#known.keys()) if (!nodes.has(name)) this.#known.delete(name);
  }

  /** Whether its refresh was requested a short time ago. A clock that was set back far makes no request last longer. */
  #isRequested({ chosenAt }: Known, now: Instant): boolean {
    return chosenAt !== undefined && Math.abs(now - chosenAt) < RETRY_AFTER * this.#options.interval;
  }

  /** A time that is invalid, or so far in the future that the clock of its writer was wrong, counts as overdue. */
  #isOverdue({ lastUpdated, at }: Pick<Known, "lastUpdated" | "at">, now: Instant): boolean {
    const { interval, agentInterval, isFromAgent } = this.#options;
    const limit = isFromAgent(lastUpdated) ? agentInterval : interval;
    return !(now > at - limit && now < at + limit);
  }
}
