import type { NodePowerState } from "../../core/api/index.ts";

export interface SleepCounts {
  /** Machines that were switched off, and those that came back. Tests do not count. */
  readonly sleeps: number;
  readonly wakes: number;
  readonly failedWakes: number;
}

/** Counts sleeps and wakes from the power states that were published for each node. */
export class SleepHistory {
  readonly #states = new Map<string, NodePowerState>();
  readonly #tested = new Set<string>();
  readonly #counts = { sleeps: 0, wakes: 0, failedWakes: 0 };

  record(node: string, state: NodePowerState | undefined): void {
    const before = this.#states.get(node);
    if (state === undefined || state === before) return;
    this.#states.set(node, state);
    if (this.#tested.has(node)) {
      if (state === "on" || state === "failed") this.#tested.delete(node);
      return;
    }
    if (state === "off") this.#counts.sleeps++;
    else if (state === "failed") this.#counts.failedWakes++;
    else if (state === "on" && (before === "waking" || before === "failed")) this.#counts.wakes++;
  }

  forget(node: string): void {
    this.#states.delete(node);
  }

  /** The next time that this node is off it is for a test. */
  expectTest(node: string): void {
    this.#states.set(node, "stopping");
    this.#tested.add(node);
  }

  /** Nodes that are tested. */
  get tests(): number {
    return this.#tested.size;
  }

  get counts(): SleepCounts {
    return { ...this.#counts };
  }
}
