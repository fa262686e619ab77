import { fnv1a32 } from "../../../core/control/index.ts";
import { type Instant, instant, type Milliseconds } from "../../../core/units/index.ts";

/** The shortest wait for a slot, as a share of the interval. Below one half: a refresh halfway is followed by the slot, even if late. */
const SHORTEST = 0.45;

interface Schedule {
  readonly lastUpdated: string;
  readonly notBefore: Instant;
  readonly due: Instant;
}

/**
 * When unchanged twins are refreshed: each node has one fixed slot per TWIN_HEARTBEAT. So the writes are spread evenly even
 * after a start that wrote all twins at once, and every replica has the same slots. The due time is computed once per
 * refresh, because every pass asks for it.
 */
export class Heartbeats {
  readonly #interval: Milliseconds;
  readonly #schedules = new Map<string, Schedule>();

  constructor(interval: Milliseconds) {
    this.#interval = interval;
  }

  isDue(name: string, lastUpdated: string, now: Instant): boolean {
    let schedule = this.#schedules.get(name);
    if (schedule?.lastUpdated !== lastUpdated) {
      schedule = this.#scheduleAfter(name, lastUpdated);
      this.#schedules.set(name, schedule);
    }
    return !isBeforeDue(now, schedule);
  }

  /** A cheap check for use between passes. It does not notice that another writer changed lastUpdated. */
  mayBeDue(name: string, now: Instant): boolean {
    const schedule = this.#schedules.get(name);
    return schedule === undefined || !isBeforeDue(now, schedule);
  }

  keepOnly(nodes: { has(name: string): boolean }): void {
    for (const name of this.#schedules.keys()) if (!nodes.has(name)) this.#schedules.delete(name);
  }

  /** A lastUpdated far in the future comes from a wrong clock. `notBefore` keeps it from delaying the refresh. */
  #scheduleAfter(name: string, lastUpdated: string): Schedule {
    const at = Date.parse(lastUpdated);
    // The remainder and not a fraction: the high bits of this hash hardly differ between node-1 and node-2.
    const phase = fnv1a32(name) % this.#interval;
    const untilSlot = phase + this.#interval * (Math.floor((at - phase) / this.#interval) + 1) - at;
    // A twin that was just written skips the next slot and is refreshed halfway to the one after it.
    const wait = untilSlot < SHORTEST * this.#interval ? (untilSlot + this.#interval) / 2 : untilSlot;
    return { lastUpdated, notBefore: instant(at - this.#interval), due: instant(at + wait) };
  }
}

/** False if lastUpdated could not be parsed. */
const isBeforeDue = (now: Instant, { notBefore, due }: Schedule): boolean => now > notBefore && now < due;
