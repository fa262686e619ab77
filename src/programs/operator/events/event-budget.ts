import { type Instant, instant } from "../../../core/units/index.ts";

/** A Deployment with a thousand replicas is one occurrence. Its Events must not displace others. */
const MAX_PER_MINUTE = 50;
const MINUTE = 60_000;

export class EventBudget {
  #since: Instant = instant(-Infinity);
  #count = 0;

  take(now: Instant): boolean {
    if (Math.abs(now - this.#since) >= MINUTE) {
      this.#since = now;
      this.#count = 0;
    }
    return this.#count++ < MAX_PER_MINUTE;
  }
}
