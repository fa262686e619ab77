/** A node's place in a table. Whoever keeps one may go on writing to it after the node has left: nothing comes of it. */
export interface NodeRow {
  readonly name: string;
  /** Where its values are in every column; -1 once the node has left. */
  readonly slot: number;
}

interface Place extends NodeRow {
  slot: number;
}

/** Which nodes there are, in order of their names, and which slot each has. */
export class NodeRows {
  readonly #byName = new Map<string, Place>();
  readonly #free: number[] = [];
  #sorted: Place[] = [];
  #slots = 0;

  get size(): number {
    return this.#sorted.length;
  }

  /** Slots ever in use: columns must be this long. */
  get slots(): number {
    return this.#slots;
  }

  get(name: string): NodeRow | undefined {
    return this.#byName.get(name);
  }

  /** A list of its own: one who reads it bit by bit is not disturbed by nodes that come, and sees -1 for those that leave. */
  inOrder(): readonly NodeRow[] {
    return this.#sorted.slice();
  }

  join(name: string): NodeRow {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const row = { name, slot: this.#free.pop() ?? this.#slots++ };
    this.#byName.set(name, row);
    this.#sorted.splice(this.#placeOf(name), 0, row);
    return row;
  }

  /** The slot that has become free; undefined where there was no such node. */
  leave(name: string): number | undefined {
    const row = this.#byName.get(name);
    if (row === undefined) return undefined;
    this.#sorted.splice(this.#placeOf(name), 1);
    return this.#forget(row);
  }

  /** The slots of all nodes but these. */
  leaveAllBut(names: ReadonlySet<string>): number[] {
    const leaving = this.#sorted.filter(({ name }) => !names.has(name));
    if (leaving.length > 0) this.#sorted = this.#sorted.filter(({ name }) => names.has(name));
    return leaving.map((row) => this.#forget(row));
  }

  #forget(row: Place): number {
    const { slot } = row;
    this.#byName.delete(row.name);
    this.#free.push(slot);
    row.slot = -1;
    return slot;
  }

  /** Where the name is, or would be. */
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
