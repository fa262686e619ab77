import type { NodePowerState, SchedulableClass } from "../../core/api/index.ts";

export interface DrainCounts {
  readonly deferred: number;
  readonly completed: number;
  readonly takenBack: number;
}

export class DrainHistory {
  readonly #classes = new Map<string, SchedulableClass | undefined>();
  readonly #counts = { deferred: 0, completed: 0, takenBack: 0 };

  record(node: string, published: SchedulableClass | undefined): void {
    const before = this.#classes.get(node);
    if (before === published) return;
    this.#classes.set(node, published);
    if (published === "draining") this.#counts.deferred++;
    else if (before === "draining" && published === "eco") this.#counts.completed++;
    else if (before === "draining") this.#counts.takenBack++;
  }

  forget(node: string): void {
    this.#classes.delete(node);
  }

  get counts(): DrainCounts {
    return { ...this.#counts };
  }
}

export interface SleepCounts {
  readonly sleeps: number;
  readonly wakes: number;
  readonly failedWakes: number;
}

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
