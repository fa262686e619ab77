import { nextHeartbeat } from "../../../core/control/index.ts";
import { type Instant, instant, type Milliseconds } from "../../../core/units/index.ts";

interface Schedule {
  readonly lastUpdated: string;
  readonly notBefore: Instant;
  readonly due: Instant;
}

/** When unchanged twins are refreshed. The due time is computed once per refresh, because every pass asks for it. */
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
    const at = instant(Date.parse(lastUpdated));
    const due = nextHeartbeat(name, at, this.#interval);
    return { lastUpdated, notBefore: instant(at - this.#interval), due };
  }
}

/** False if lastUpdated could not be parsed. */
const isBeforeDue = (now: Instant, { notBefore, due }: Schedule): boolean => now > notBefore && now < due;
