import type { ClusterPlan, NodePlan } from "../../../core/planning/index.ts";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";

/** An agent that takes longer to raise the caps is dead, cut off, or cannot raise them. */
const CONFIRM_WITHIN = milliseconds(60_000);
/** Then the node is tried again, if its agent has reported since. */
const RETRY_AFTER = milliseconds(300_000);

interface Unconfirmed {
  readonly since: MonotonicInstant;
  readonly overdue?: { readonly lastReport: string };
}

interface OverdueChange {
  readonly newlyOverdue: readonly NodePlan[];
  readonly hasChanged: boolean;
}

/** Promoted nodes without the agent's receipt, and since when, in real time. A restart starts the count again. */
export class UnconfirmedNodes {
  readonly #clock: Clock;
  readonly #onOverdue: () => void;
  readonly #nodes = new Map<string, Unconfirmed>();
  #overdue: ReadonlySet<string> = new Set();
  #timer: Timer | undefined;

  constructor(ioClock: Clock, onOverdue: () => void) {
    this.#clock = ioClock;
    this.#onOverdue = onOverdue;
  }

  /** Nodes that were not confirmed in time. They stay eco for now. */
  get overdue(): ReadonlySet<string> {
    return this.#overdue;
  }

  update({ nodes }: ClusterPlan): OverdueChange {
    const now = this.#clock.monotonic();
    const newlyOverdue: NodePlan[] = [];
    for (const name of this.#nodes.keys()) if (!nodes.has(name)) this.#nodes.delete(name);
    for (const plan of nodes.values()) {
      const known = this.#nodes.get(plan.name);
      if (known?.overdue !== undefined) {
        const isBack = lastReportOf(plan) !== known.overdue.lastReport && elapsed(known.since, now) >= RETRY_AFTER;
        if (isBack || plan.twin?.status?.schedulableClass === "performance") this.#nodes.delete(plan.name);
      } else if (!plan.awaitsAgent || plan.twin?.spec.profile !== "performance") this.#nodes.delete(plan.name);
      else if (known === undefined) this.#nodes.set(plan.name, { since: now });
      else if (elapsed(known.since, now) >= CONFIRM_WITHIN) {
        this.#nodes.set(plan.name, { since: now, overdue: { lastReport: lastReportOf(plan) } });
        newlyOverdue.push(plan);
      }
    }
    const hasChanged = this.#publish();
    this.#arm(now);
    return { newlyOverdue, hasChanged };
  }

  clear(): void {
    this.#timer?.cancel();
    this.#nodes.clear();
    this.#publish();
  }

  #publish(): boolean {
    const names = Array.from(this.#nodes).flatMap(([name, { overdue }]) => (overdue === undefined ? [] : [name]));
    const hasChanged = names.length !== this.#overdue.size || names.some((name) => !this.#overdue.has(name));
    this.#overdue = new Set(names);
    return hasChanged;
  }

  #arm(now: MonotonicInstant): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    let wait = Infinity;
    for (const { since, overdue } of this.#nodes.values())
      if (overdue === undefined) wait = Math.min(wait, CONFIRM_WITHIN - elapsed(since, now));
    if (wait < Infinity) this.#timer = this.#clock.after(milliseconds(wait), this.#onOverdue);
  }
}

const lastReportOf = ({ twin }: NodePlan): string => twin?.status?.controlStatus?.cpu?.updatedAt ?? "";
