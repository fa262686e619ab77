/** A table of integers with one row per candidate, in one array that grows and is reused for the next request. */
export class RowTable {
  readonly width: number;
  count = 0;
  cells: Int32Array;

  constructor(width: number) {
    this.width = width;
    this.cells = new Int32Array(width * 64);
  }

  clear(): void {
    this.count = 0;
  }

  /** Appends a row of zeros and returns its start. */
  add(): number {
    const start = this.count * this.width;
    const end = start + this.width;
    this.count++;
    if (end > this.cells.length) {
      const more = new Int32Array(this.cells.length * 2);
      more.set(this.cells);
      this.cells = more;
    }
    // For a handful of numbers a loop is faster than a call to fill.
    for (let cell = start; cell < end; cell++) this.cells[cell] = 0;
    return start;
  }
}

/** Columns of a row: byte positions in the body. A start of 0 means absent: position 0 holds the body's first brace. */
export const NAME_START = 0;
export const NAME_END = 1;
export const NAME_ROW = 2;
export const START = 2;
export const END = 3;
export const PROFILE_START = 4;
export const PROFILE_END = 5;
export const DRAINING_START = 6;
export const DRAINING_END = 7;
export const NODE_ROW = 8;

export interface SlotIndex {
  slotOf(name: string): number;
}

const EMPTY = Buffer.alloc(0);

/** The nodes of one request as byte positions. Valid until the next request is read into the same table. */
export class Candidates {
  readonly kind: "names" | "nodes";
  readonly body: Buffer;
  readonly #table: RowTable;

  constructor(kind: Candidates["kind"], body: Buffer, table: RowTable) {
    this.kind = kind;
    this.body = body;
    this.#table = table;
  }

  get count(): number {
    return this.#table.count;
  }

  name(i: number): string {
    return this.#text(this.#cell(i, NAME_START), this.#cell(i, NAME_END));
  }

  powerProfile(i: number): string | undefined {
    if (this.kind === "names") return undefined;
    const start = this.#cell(i, PROFILE_START);
    return start === 0 ? undefined : this.#text(start, this.#cell(i, PROFILE_END));
  }

  draining(i: number): string | undefined {
    if (this.kind === "names") return undefined;
    const start = this.#cell(i, DRAINING_START);
    return start === 0 ? undefined : this.#text(start, this.#cell(i, DRAINING_END));
  }

  raw(i: number): Buffer {
    if (this.kind === "names") throw new Error("the request has names only, no Nodes");
    return this.body.subarray(this.#cell(i, START), this.#cell(i, END));
  }

  /** Where candidate i, a quoted name or a Node, starts in the body. */
  startOf(i: number): number {
    return this.kind === "names" ? this.#cell(i, NAME_START) - 1 : this.#cell(i, START);
  }

  endOf(i: number): number {
    return this.kind === "names" ? this.quotedNameEnd(i) : this.#cell(i, END);
  }

  /** The quoted name as the request spells it, which is valid JSON for a reply. */
  quotedNameStart(i: number): number {
    return this.#cell(i, NAME_START) - 1;
  }

  quotedNameEnd(i: number): number {
    return this.#cell(i, NAME_END) + 1;
  }

  /** The length of all quoted names; in a request with names also of what separates them. */
  get quotedNameBytes(): number {
    if (this.kind === "names") return this.list.length;
    let bytes = 0;
    for (let i = 0; i < this.count; i++) bytes += this.quotedNameEnd(i) - this.quotedNameStart(i);
    return bytes;
  }

  /** All candidates as the request spells them, from the first to the last, with what separates them. */
  get list(): Buffer {
    const { count } = this.#table;
    return count === 0 ? EMPTY : this.body.subarray(this.startOf(0), this.endOf(count - 1));
  }

  /** Writes the slot of each candidate to the same position in `out`, -1 for an unknown name. */
  slots(index: SlotIndex, out: Int32Array): void {
    const { count } = this.#table;
    if (count === 0) return;
    if (this.kind === "nodes") {
      for (let i = 0; i < count; i++) out[i] = index.slotOf(this.name(i));
      return;
    }
    // One JSON.parse of the list is faster than a Buffer.toString for each name.
    const names = JSON.parse(`[${this.list.toString("utf8")}]`) as readonly string[];
    for (let i = 0; i < count; i++) out[i] = index.slotOf(names[i] as string);
  }

  #cell(i: number, cell: number): number {
    return this.#table.cells[i * this.#table.width + cell] as number;
  }

  #text(start: number, end: number): string {
    return this.body.toString("utf8", start, end);
  }
}
