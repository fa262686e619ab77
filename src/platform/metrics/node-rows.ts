import { SlotTable } from "../../core/units/index.ts";

/** The row of a node in a table. Writes to it after the node left have no effect. */
export interface NodeRow {
  readonly name: string;
  /** The index of its values in every column; -1 after the node left. */
  readonly slot: number;
}

interface Place extends NodeRow {
  slot: number;
}

/** The nodes of a table, sorted by name, with their slots. */
export class NodeRows {
  readonly #byName = new Map<string, Place>();
  readonly #slots = new SlotTable();
  #sorted: Place[] = [];

  get size(): number {
    return this.#sorted.length;
  }

  /** Number of slots ever used: the minimum length of the columns. */
  get slots(): number {
    return this.#slots.end;
  }

  get(name: string): NodeRow | undefined {
    return this.#byName.get(name);
  }

  /** A copy: an incremental reader is not affected by new nodes and sees -1 for nodes that left. */
  inOrder(): readonly NodeRow[] {
    return this.#sorted.slice();
  }

  join(name: string): NodeRow {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const row = { name, slot: this.#slots.take(name) };
    this.#byName.set(name, row);
    this.#sorted.splice(this.#placeOf(name), 0, row);
    return row;
  }

  /** Returns the freed slot; undefined if there was no such node. */
  leave(name: string): number | undefined {
    const row = this.#byName.get(name);
    if (row === undefined) return undefined;
    this.#sorted.splice(this.#placeOf(name), 1);
    return this.#forget(row);
  }

  /** The slots of all nodes except these. */
  leaveAllBut(names: ReadonlySet<string>): number[] {
    const leaving = this.#sorted.filter(({ name }) => !names.has(name));
    if (leaving.length > 0) this.#sorted = this.#sorted.filter(({ name }) => names.has(name));
    return leaving.map((row) => this.#forget(row));
  }

  #forget(row: Place): number {
    const { slot } = row;
    this.#byName.delete(row.name);
    this.#slots.release(row.name);
    row.slot = -1;
    return slot;
  }

  /** The index of the name, or where it would be inserted. */
  #placeOf(name: string): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle]?.name ?? "") < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
