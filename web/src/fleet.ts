import {
  type ClassName,
  type ColumnName,
  type Columns,
  classNames,
  columnNames,
  type Delta,
  type Snapshot,
} from "../../src/programs/dashboard/wire.ts";

/** All nodes as the server sends them: columns by slot. */
export class Fleet {
  names: (string | null)[] = [];
  columns: Columns = emptyColumns();
  epoch = "";
  seq = -1;
  topology = 0;
  /** By the names of nodes. */
  readonly #slots = new Map<string, number>();

  load(snapshot: Snapshot): void {
    this.names = snapshot.names;
    this.columns = snapshot.columns;
    this.epoch = snapshot.epoch;
    this.seq = snapshot.seq;
    this.topology = snapshot.topology;
    this.#slots.clear();
    for (const [slot, name] of this.names.entries()) if (name !== null) this.#slots.set(name, slot);
  }

  /** False if the delta does not follow what is there: the page then reads everything again. */
  apply(delta: Delta): boolean {
    if (delta.seq <= this.seq) return true;
    if (delta.seq !== this.seq + 1) return false;
    this.seq = delta.seq;
    this.topology = delta.topology ?? this.topology;
    const { slots = [], names = [], columns } = delta;
    for (const [index, slot] of slots.entries()) {
      const name = names[index] ?? null;
      const old = this.names[slot] ?? null;
      if (old !== name) {
        if (old !== null) this.#slots.delete(old);
        if (name !== null) this.#slots.set(name, slot);
        this.names[slot] = name;
      }
      if (columns !== undefined)
        for (const column of columnNames) this.columns[column][slot] = columns[column][index] ?? null;
    }
    return true;
  }

  slotOf(name: string): number {
    return this.#slots.get(name) ?? -1;
  }

  value(column: ColumnName, slot: number): number | null {
    return this.columns[column][slot] ?? null;
  }

  /** The power drawn now in percent of what the node may draw under its caps. */
  usedPercent(slot: number): number | null {
    const [power, cap] = [this.value("power", slot), this.value("cap", slot)];
    return power === null || cap === null || cap === 0 ? null : (100 * power) / cap;
  }

  classOf(slot: number): ClassName {
    return classNames[this.value("class", slot) ?? 4] ?? "unknown";
  }

  /** The slots of all nodes that exist. */
  slots(): number[] {
    const slots: number[] = [];
    for (let slot = 0; slot < this.names.length; slot++) if (this.names[slot] !== null) slots.push(slot);
    return slots;
  }
}

function emptyColumns(): Columns {
  return Object.fromEntries(columnNames.map((name) => [name, []])) as unknown as Columns;
}
