import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";

/**
 * Detects that the operator's TWIN_HEARTBEAT exceeds this extender's TWIN_STALENESS_THRESHOLD: nodes would get the neutral score
 * part of the time. One late refresh may be an outage; a second one in a row for the same node is a configuration problem.
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

  /** `before` and `now` are the twin's lastUpdated before and after the change. */
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
