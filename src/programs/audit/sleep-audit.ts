import type { NodePowerState, PowerEndpointStatus } from "../../core/api/index.ts";
import { SleepBindings } from "./sleep-bindings.ts";

/** Results for the rule that no pod is bound to a sleeping node. */
export interface SleepAuditResult {
  /** Bindings checked so far. */
  readonly pods: number;
  readonly violations: number;
  /** The first violations. */
  readonly examples: readonly string[];
}

interface Seen {
  readonly version: number;
  readonly judge: () => void;
}

const EXAMPLES = 5;

/**
 * Compares bindings with the steps of the power program and with the machines themselves. Pods and PowerEndpoints arrive on
 * different watches, so every change waits until the other watch has had a round to catch up. Changes are judged in the order of
 * the writes.
 */
export class SleepAudit {
  readonly #bindings = new SleepBindings({ onViolation: (text) => this.#violated(text) });
  #waiting: Seen[] = [];
  #newest = 0;
  /** The newest version that was seen before the previous round. */
  #settled = 0;
  #pods = 0;
  #violations = 0;
  readonly #examples: string[] = [];

  endpointChanged(node: string, version: number, status: PowerEndpointStatus | undefined): void {
    this.#add({ version, judge: () => this.#bindings.endpointChanged(node, status) });
  }

  /** `machineOn`: whether the simulated machine was on when the binding was seen. */
  bound(pod: string, node: string, version: number, machineOn: boolean): void {
    const judge = () => {
      this.#pods++;
      if (machineOn) this.#bindings.bound(pod, node, false);
      else this.#violated(`${pod} was bound to ${node}, whose machine was switched off`);
    };
    this.#add({ version, judge });
  }

  ended(pod: string, version: number): void {
    this.#add({ version, judge: () => this.#bindings.ended(pod) });
  }

  /** Judges up to the newest version that was seen before the previous call, also what arrived since then. */
  judge(): void {
    const settled = this.#settled;
    const { due = [], later = [] } = Object.groupBy(this.#waiting, ({ version }) =>
      version <= settled ? "due" : "later",
    );
    this.#waiting = later;
    this.#settled = this.#newest;
    for (const seen of due.toSorted((a, b) => a.version - b.version)) seen.judge();
  }

  get figures(): SleepAuditResult {
    return { pods: this.#pods, violations: this.#violations, examples: this.#examples };
  }

  #add(seen: Seen): void {
    this.#waiting.push(seen);
    this.#newest = Math.max(this.#newest, seen.version);
  }

  #violated(text: string): void {
    this.#violations++;
    if (this.#examples.length < EXAMPLES) this.#examples.push(text);
  }
}

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
