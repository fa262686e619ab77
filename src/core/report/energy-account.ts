import type { WorkloadClass } from "../demand/index.ts";
import { type Instant, instant, type Joules, joules, milliseconds, type Watts } from "../units/index.ts";
import type { WattsInterval } from "./counterfactual.ts";

/** One node at one moment, as an account reads it. */
export interface NodeEnergySample {
  readonly node: string;
  /** At the wall. Undefined if the node has no reading; its time then counts as not covered. */
  readonly drawn: Watts | undefined;
  /** The part of `drawn` that neither a meter nor a sensor read: the rest of the server, and estimated devices. */
  readonly modelled: Watts;
  /** What the node draws at the wall without pods. */
  readonly idle: Watts;
  /** How its pods share what it draws above idle; the shares add up to 1, or to 0 without pods. */
  readonly shares: Readonly<Record<WorkloadClass, number>>;
  /** At the wall. */
  readonly savedByCaps: WattsInterval;
  /** What packages and boards alone would draw more without caps and sleep. */
  readonly savedInChips: Watts;
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
type EnergyClass = WorkloadClass | "idle";

interface NodeEnergy {
  readonly node: string;
  readonly used: Joules;
  /** Undefined if the source does not tell it by node. */
  readonly notUsed: JoulesInterval | undefined;
}

export interface EnergyTotals {
  readonly from: Instant | undefined;
  readonly to: Instant | undefined;
  /** At the wall, as all figures. */
  readonly used: Joules;
  /** The part of `used` that neither a meter nor a sensor read. Undefined if the source does not tell it. */
  readonly modelled: Joules | undefined;
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
  /** Version 1 counted packages and boards. */
  readonly version: 2;
  readonly from: number;
  readonly to: number;
  readonly covered: number;
  readonly time: number;
  readonly nodes: Readonly<Record<string, readonly number[]>>;
}

/** A longer gap between two samples is not covered: what happened in it is unknown. */
const MAX_GAP = milliseconds(10 * 60_000);
/** Where nodes come and go for years, the rows of those that left are added up once there are more than this. */
const ROWS_LIMIT = 10_000;
/** No node has this name: it is not allowed in Kubernetes. */
export const REMOVED_NODES = "(removed nodes)";

const columns = ["used", "performance", "standard", "idle", "caps", "low", "high", "sleep", "modelled"] as const;
type Column = (typeof columns)[number];
type Row = Record<Column, number>;
const emptyRow = (): Row => Object.fromEntries(columns.map((column) => [column, 0])) as Row;

/** Adds samples up to joules, used and not used, by node and class. A sample holds until the next one. */
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

  /** A sample that is not newer than the last one has no effect, unless the clock was set back: then the account goes on from it. */
  add(sample: EnergySample): void {
    const last = this.#last;
    if (last !== undefined && sample.at <= last.at && last.at - sample.at <= MAX_GAP) return;
    this.#last = sample;
    const before = this.#to;
    this.#from = instant(Math.min(this.#from ?? sample.at, sample.at));
    this.#to = sample.at;
    const since = last?.at ?? before;
    if (since === undefined || sample.at <= since) return;
    const time = (sample.at - since) / 1000;
    // After a restart or a long gap the time counts, as time without a reading.
    if (last === undefined || sample.at - since > MAX_GAP) {
      this.#time += time * sample.nodes.length;
      return;
    }
    for (const node of last.nodes) this.#addNode(node, time);
    if (this.#rows.size > ROWS_LIMIT) this.#foldRemoved(sample.nodes);
  }

  #addNode({ node, drawn, modelled, idle, shares, savedByCaps, asleep }: NodeEnergySample, time: number): void {
    this.#time += time;
    if (drawn === undefined && !asleep) return;
    this.#covered += time;
    let row = this.#rows.get(node);
    if (row === undefined) this.#rows.set(node, (row = emptyRow()));
    row.modelled += modelled * time;
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

  #foldRemoved(present: readonly NodeEnergySample[]): void {
    const names = new Set(present.map(({ node }) => node));
    const folded = this.#rows.get(REMOVED_NODES) ?? emptyRow();
    for (const [node, row] of this.#rows) {
      if (names.has(node) || node === REMOVED_NODES) continue;
      for (const column of columns) folded[column] += row[column];
      this.#rows.delete(node);
    }
    this.#rows.set(REMOVED_NODES, folded);
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
      modelled: joules(sum.modelled),
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

  /** The time of the last sample; undefined before the first. */
  get until(): Instant | undefined {
    return this.#to;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Adds what another account of another time has counted. */
  absorb(other: EnergyAccount): void {
    if (other.#from === undefined || other.#to === undefined) return;
    this.#from = instant(Math.min(this.#from ?? other.#from, other.#from));
    this.#to = instant(Math.max(this.#to ?? other.#to, other.#to));
    this.#covered += other.#covered;
    this.#time += other.#time;
    for (const [node, row] of other.#rows) this.#addRow(node, row);
  }

  /** Adds all rows up to one with this name. */
  fold(name: string): void {
    const rows = Array.from(this.#rows.values());
    this.#rows.clear();
    for (const row of rows) this.#addRow(name, row);
  }

  #addRow(node: string, row: Row): void {
    const sum = this.#rows.get(node);
    if (sum === undefined) this.#rows.set(node, { ...row });
    else for (const column of columns) sum[column] += row[column];
  }

  /** Undefined before the first sample. Continue with `new EnergyAccount(stored)`. Whole joules: thousands of nodes stay a small file. */
  get stored(): StoredEnergyAccount | undefined {
    if (this.#from === undefined || this.#to === undefined) return undefined;
    const nodes = Object.fromEntries(
      Array.from(this.#rows, ([node, row]) => [node, columns.map((column) => Math.round(row[column]))]),
    );
    return { version: 2, from: this.#from, to: this.#to, covered: this.#covered, time: this.#time, nodes };
  }
}

/** The energy of sleeping nodes is the model's idle power, without an interval. */
const intervalOf = ({ caps, low, high, sleep }: Row): JoulesInterval => ({
  estimate: joules(caps + sleep),
  low: joules(low + sleep),
  high: joules(high + sleep),
});
