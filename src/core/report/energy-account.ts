import type { WorkloadClass } from "../demand/index.ts";
import { type Instant, type Joules, joules, milliseconds, type Watts } from "../units/index.ts";
import type { WattsInterval } from "./counterfactual.ts";

/** One node at one moment, as an account reads it. */
export interface NodeEnergySample {
  readonly node: string;
  /** Undefined if the node has no reading; its time then counts as not covered. */
  readonly drawn: Watts | undefined;
  /** What the node draws without pods. */
  readonly idle: Watts;
  /** How its pods share what it draws above idle; the shares add up to 1, or to 0 without pods. */
  readonly shares: Readonly<Record<WorkloadClass, number>>;
  readonly savedByCaps: WattsInterval;
  /** The node is off: it would draw its idle power. */
  readonly asleep: boolean;
}

export interface EnergySample {
  readonly at: Instant;
  readonly nodes: readonly NodeEnergySample[];
}

export interface JoulesInterval {
  readonly estimate: Joules;
  readonly low: Joules;
  readonly high: Joules;
}

/** `idle` is what nodes draw without pods. */
export type EnergyClass = WorkloadClass | "idle";

export interface NodeEnergy {
  readonly node: string;
  readonly used: Joules;
  readonly notUsed: JoulesInterval;
}

export interface EnergyTotals {
  readonly from: Instant | undefined;
  readonly to: Instant | undefined;
  readonly used: Joules;
  readonly byClass: Readonly<Record<EnergyClass, Joules>>;
  readonly byNode: readonly NodeEnergy[];
  readonly notUsed: JoulesInterval;
  /** The parts of `notUsed.estimate`. */
  readonly byCause: { readonly caps: Joules; readonly sleep: Joules };
  /** The share of the node time with a reading, 0 to 1; undefined without time. */
  readonly coverage: number | undefined;
}

/** The state of an account as JSON, to be continued later. */
export interface StoredEnergyAccount {
  readonly version: 1;
  readonly from: number;
  readonly to: number;
  readonly covered: number;
  readonly time: number;
  readonly nodes: Readonly<Record<string, readonly number[]>>;
}

/** A longer gap between two samples is not covered: what happened in it is unknown. */
const LONGEST_GAP = milliseconds(10 * 60_000);

const columns = ["used", "performance", "standard", "idle", "caps", "low", "high", "sleep"] as const;
type Column = (typeof columns)[number];
type Row = Record<Column, number>;
const emptyRow = (): Row => ({ used: 0, performance: 0, standard: 0, idle: 0, caps: 0, low: 0, high: 0, sleep: 0 });

/**
 * Adds samples up to joules: those used, by node and class, and those not used compared with the counterfactual. A sample holds
 * until the next one. Adding takes one pass over the nodes, and the account has one row per node.
 */
export class EnergyAccount {
  readonly #rows = new Map<string, Row>();
  #from: Instant | undefined;
  #last: EnergySample | undefined;
  #to: Instant | undefined;
  #covered = 0;
  #time = 0;

  constructor(stored?: StoredEnergyAccount) {
    if (stored === undefined) return;
    this.#from = stored.from as Instant;
    this.#to = stored.to as Instant;
    this.#covered = stored.covered;
    this.#time = stored.time;
    for (const [node, values] of Object.entries(stored.nodes)) {
      const row = emptyRow();
      columns.forEach((column, index) => {
        row[column] = values[index] ?? 0;
      });
      this.#rows.set(node, row);
    }
  }

  /** A sample that is not newer than the last one has no effect. */
  add(sample: EnergySample): void {
    const last = this.#last;
    if (last !== undefined && sample.at <= last.at) return;
    this.#last = sample;
    this.#from ??= sample.at;
    this.#to = sample.at;
    if (last === undefined || sample.at - last.at > LONGEST_GAP) return;
    const time = (sample.at - last.at) / 1000;
    for (const node of last.nodes) this.#addNode(node, time);
  }

  #addNode({ node, drawn, idle, shares, savedByCaps, asleep }: NodeEnergySample, time: number): void {
    this.#time += time;
    if (drawn === undefined && !asleep) return;
    this.#covered += time;
    let row = this.#rows.get(node);
    if (row === undefined) this.#rows.set(node, (row = emptyRow()));
    if (asleep) {
      row.used += (drawn ?? 0) * time;
      row.idle += (drawn ?? 0) * time;
      row.sleep += (idle - (drawn ?? 0)) * time;
      return;
    }
    const watts = drawn as number;
    const busy = shares.performance + shares.standard > 0 ? Math.max(0, watts - idle) : 0;
    row.used += watts * time;
    row.performance += busy * shares.performance * time;
    row.standard += busy * shares.standard * time;
    row.idle += (watts - busy) * time;
    row.caps += savedByCaps.estimate * time;
    row.low += savedByCaps.low * time;
    row.high += savedByCaps.high * time;
  }

  get totals(): EnergyTotals {
    const sum = emptyRow();
    const byNode: NodeEnergy[] = [];
    for (const [node, row] of this.#rows) {
      for (const column of columns) sum[column] += row[column];
      byNode.push({ node, used: joules(row.used), notUsed: intervalOf(row) });
    }
    return {
      from: this.#from,
      to: this.#to,
      used: joules(sum.used),
      byClass: {
        performance: joules(sum.performance),
        standard: joules(sum.standard),
        idle: joules(sum.idle),
      },
      byNode: byNode.toSorted((one, other) => (one.node < other.node ? -1 : 1)),
      notUsed: intervalOf(sum),
      byCause: { caps: joules(sum.caps), sleep: joules(sum.sleep) },
      coverage: this.#time > 0 ? this.#covered / this.#time : undefined,
    };
  }

  /** Undefined before the first sample. Continue with `new EnergyAccount(stored)`. */
  get stored(): StoredEnergyAccount | undefined {
    if (this.#from === undefined || this.#to === undefined) return undefined;
    const nodes = Object.fromEntries(
      Array.from(this.#rows, ([node, row]) => [node, columns.map((column) => row[column])]),
    );
    return { version: 1, from: this.#from, to: this.#to, covered: this.#covered, time: this.#time, nodes };
  }
}

/** The energy of sleeping nodes is the model's idle power, without an interval. */
const intervalOf = ({ caps, low, high, sleep }: Row): JoulesInterval => ({
  estimate: joules(caps + sleep),
  low: joules(low + sleep),
  high: joules(high + sleep),
});
