import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";

/**
 * Notices that the operator refreshes twins more slowly than this extender lets them grow old (TWIN_HEARTBEAT against
 * TWIN_STALENESS_THRESHOLD): nodes would have the neutral score for a part of the time. One late refresh may be an outage; the
 * second one in a row of the same node is how the operator is set.
 */
export class TwinRefreshMonitor {
  readonly #threshold: Milliseconds;
  readonly #onSlow: (gap: Milliseconds) => void;
  readonly #late = new Set<string>();
  #isReported = false;

  constructor(threshold: Milliseconds, onSlow: (gap: Milliseconds) => void) {
    this.#threshold = threshold;
    this.#onSlow = onSlow;
  }

  /** Times as the twin says them, before and now. */
  observe(node: string, before: string | undefined, now: string | undefined): void {
    if (this.#isReported || before === now) return;
    const gap = milliseconds(Date.parse(now ?? "") - Date.parse(before ?? ""));
    if (!(gap > this.#threshold)) {
      this.#late.delete(node);
    } else if (this.#late.has(node)) {
      this.#isReported = true;
      this.#late.clear();
      this.#onSlow(gap);
    } else {
      this.#late.add(node);
    }
  }

  forget(node: string): void {
    this.#late.delete(node);
  }
}
