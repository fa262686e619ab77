import { type Labels, labels as ourLabels } from "../../../core/api/index.ts";
import { SlotTable } from "../../../core/units/index.ts";
import { type Columns, columnNames, type LabelColumn, type Totals } from "../wire.ts";
import { type FleetRow, type Freshness, isOff, isRecent } from "./node-row.ts";

interface Entry {
  readonly name: string;
  readonly labels: Labels;
  row: FleetRow;
}

export interface TableChanges {
  readonly slots: readonly number[];
  readonly names: readonly (string | null)[];
  readonly columns: Columns;
}

export interface TotalsFacts {
  readonly pods: number | null;
  readonly pendingPods: number | null;
  readonly savedWatts: number | null;
  readonly freshness: Freshness;
}

/** More label keys than a person would choose from. */
const KEYS_LIMIT = 200;
/** Labels that differ on every node group nothing. */
const NOT_FOR_GROUPS = new Set(["kubernetes.io/hostname"]);
const FIRST_KEYS: readonly string[] = [ourLabels.rack, ourLabels.coolingZone];

/** All nodes as columns of numbers. A node keeps its slot while it exists, so that changes name slots instead of nodes. */
export class FleetTable {
  readonly #slots = new SlotTable();
  readonly #entries: (Entry | undefined)[] = [];
  readonly #dirty = new Set<number>();
  readonly #keys = new Map<string, number>();
  #topology = 1;

  get topology(): number {
    return this.#topology;
  }

  get size(): number {
    return this.#slots.size;
  }

  get labelKeys(): readonly string[] {
    const keys = [...this.#keys.keys()].filter((key) => !NOT_FOR_GROUPS.has(key)).toSorted();
    const first = FIRST_KEYS.filter((key) => this.#keys.has(key));
    return [...new Set([...first, ...keys])].slice(0, KEYS_LIMIT);
  }

  set(name: string, labels: Labels, row: FleetRow): void {
    const slot = this.#slots.take(name);
    const old = this.#entries[slot];
    if (old === undefined || !sameLabels(old.labels, labels)) {
      this.#countKeys(old?.labels, -1);
      this.#countKeys(labels, 1);
      this.#topology++;
      this.#entries[slot] = { name, labels, row };
      this.#dirty.add(slot);
    } else if (!sameRow(old.row, row)) {
      old.row = row;
      this.#dirty.add(slot);
    }
  }

  remove(name: string): void {
    const slot = this.#slots.of(name);
    if (slot < 0) return;
    this.#countKeys(this.#entries[slot]?.labels, -1);
    this.#slots.release(name);
    this.#entries[slot] = undefined;
    this.#topology++;
    this.#dirty.add(slot);
  }

  row(name: string): FleetRow | undefined {
    return this.#entries[this.#slots.of(name)]?.row;
  }

  *rows(): Generator<readonly [string, FleetRow]> {
    for (const entry of this.#entries) if (entry !== undefined) yield [entry.name, entry.row];
  }

  takeChanges(): TableChanges | undefined {
    if (this.#dirty.size === 0) return undefined;
    const slots = [...this.#dirty].toSorted((a, b) => a - b);
    this.#dirty.clear();
    return { slots, ...this.#columnsOf(slots) };
  }

  all(): Omit<TableChanges, "slots"> {
    return this.#columnsOf(Array.from({ length: this.#slots.end }, (_, slot) => slot));
  }

  labelColumn(key: string): LabelColumn {
    const values: string[] = [];
    const codeOf = new Map<string, number>();
    const codes = Array.from({ length: this.#slots.end }, (_, slot) => {
      const { labels = {} } = this.#entries[slot] ?? {};
      // A key such as __proto__ would find what every object inherits.
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      if (value === undefined) return -1;
      let code = codeOf.get(value);
      if (code === undefined) {
        code = values.push(value) - 1;
        codeOf.set(value, code);
      }
      return code;
    });
    return { key, topology: this.#topology, values, codes };
  }

  totals({ pods, pendingPods, savedWatts, freshness }: TotalsFacts): Totals {
    const sums = { power: 0, cap: 0, tdp: 0 };
    const counts = { power: 0, cap: 0, tdp: 0 };
    const byClass = [0, 0, 0, 0, 0];
    let measured = 0;
    let expected = 0;
    let stale = 0;
    let awake = 0;
    let awakeWithPower = 0;
    for (const [, row] of this.rows()) {
      const isExpected = row.updatedAt !== null;
      const isAwake = isExpected && !isOff(row);
      expected += Number(isExpected);
      awake += Number(isAwake);
      awakeWithPower += Number(isAwake && row.power !== null);
      stale += Number(isAwake && !isRecent(row.updatedAt, freshness));
      byClass[row.class ?? 4] = (byClass[row.class ?? 4] ?? 0) + 1;
      measured += Number(row.power !== null && row.measured === 1);
      for (const name of ["power", "cap", "tdp"] as const) {
        const value = row[name];
        if (value === null) continue;
        sums[name] += value;
        counts[name]++;
      }
    }
    const sum = (name: keyof typeof sums) => (counts[name] === 0 ? null : Math.round(sums[name]));
    // Nodes that are off would make a sum of 0 W when the operator refreshes no twin any more.
    const power = awake > 0 && awakeWithPower === 0 ? null : sum("power");
    return {
      power,
      expected,
      withPower: counts.power,
      stale,
      cap: sum("cap"),
      capacity: sum("tdp"),
      counterfactual: power === null || savedWatts === null ? null : power + savedWatts,
      nodes: this.size,
      measured,
      byClass,
      pods,
      pendingPods,
    };
  }

  #columnsOf(slots: readonly number[]): Omit<TableChanges, "slots"> {
    const rows = slots.map((slot) => this.#entries[slot]);
    const columns = Object.fromEntries(
      columnNames.map((name) => [name, rows.map((entry) => entry?.row[name] ?? null)]),
    );
    return { names: rows.map((entry) => entry?.name ?? null), columns: columns as Columns };
  }

  #countKeys(labels: Labels = {}, by: 1 | -1): void {
    for (const key in labels) {
      const count = (this.#keys.get(key) ?? 0) + by;
      if (count > 0) this.#keys.set(key, count);
      else this.#keys.delete(key);
    }
  }
}

function sameLabels(one: Labels, other: Labels): boolean {
  if (one === other) return true;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

const sameRow = (one: FleetRow, other: FleetRow): boolean => columnNames.every((name) => one[name] === other[name]);
