import { fnv1a32 } from "../../../core/control/index.ts";
import { type Instant, instant, type Milliseconds } from "../../../core/units/index.ts";

/** Heartbeats fall due between this share of TWIN_HEARTBEAT and all of it, so that they spread over time. */
const EARLIEST = 0.7;

interface Beat {
  readonly lastUpdated: string;
  readonly notBefore: Instant;
  readonly due: Instant;
}

/** When twins that say the same as before are refreshed. Worked out once for each refresh: it is asked for in every pass. */
export class Heartbeats {
  readonly #length: Milliseconds;
  readonly #of = new Map<string, Beat>();

  constructor(length: Milliseconds) {
    this.#length = length;
  }

  isDue(name: string, lastUpdated: string, now: Instant): boolean {
    let beat = this.#of.get(name);
    if (beat?.lastUpdated !== lastUpdated) this.#of.set(name, (beat = this.#beatAfter(name, lastUpdated)));
    return !isBetween(now, beat);
  }

  /** By the refresh that was known last: between passes nobody else's hand is looked for. */
  mayBeDue(name: string, now: Instant): boolean {
    const beat = this.#of.get(name);
    return beat === undefined || !isBetween(now, beat);
  }

  keepOnly(nodes: { has(name: string): boolean }): void {
    for (const name of this.#of.keys()) if (!nodes.has(name)) this.#of.delete(name);
  }

  /** A time ahead of ours was written by a clock that is wrong: it would keep the twin from being refreshed. */
  #beatAfter(name: string, lastUpdated: string): Beat {
    const at = Date.parse(lastUpdated);
    // Differs from node to node and from beat to beat, and yet is the same in every replica.
    const share = EARLIEST + (1 - EARLIEST) * (fnv1a32(`${name} ${lastUpdated}`) / 2 ** 32);
    return { lastUpdated, notBefore: instant(at - this.#length), due: instant(at + this.#length * share) };
  }
}

/** False for a time that could not be read. */
const isBetween = (now: Instant, { notBefore, due }: Beat): boolean => now > notBefore && now < due;
