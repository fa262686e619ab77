import type { NodePowerState } from "../../core/api/index.ts";

export interface SleepCounts {
  /** Machines that were switched off, and those that came back. */
  readonly sleeps: number;
  readonly wakes: number;
  readonly failedWakes: number;
}

/** Counts sleeps and wakes from the power states that were published for each node. */
export class SleepHistory {
  readonly #states = new Map<string, NodePowerState>();
  readonly #counts = { sleeps: 0, wakes: 0, failedWakes: 0 };

  record(node: string, state: NodePowerState | undefined): void {
    const before = this.#states.get(node);
    if (state === undefined || state === before) return;
    this.#states.set(node, state);
    if (state === "off") this.#counts.sleeps++;
    else if (state === "failed") this.#counts.failedWakes++;
    else if (state === "on" && (before === "waking" || before === "failed")) this.#counts.wakes++;
  }

  forget(node: string): void {
    this.#states.delete(node);
  }

  get counts(): SleepCounts {
    return { ...this.#counts };
  }
}
