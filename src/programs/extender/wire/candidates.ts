import type { RowTable } from "./row-table.ts";

/** A row's cells. A node without a label has 0 for its start: at 0 stands the body's first brace, never a string. */
export const NAME_START = 0;
/** As every end of a string here: negated (~) when the string has escapes. */
export const NAME_END = 1;
export const NAME_ROW = 2;
export const START = 2;
export const END = 3;
export const PROFILE_START = 4;
export const PROFILE_END = 5;
export const DRAINING_START = 6;
export const DRAINING_END = 7;
export const NODE_ROW = 8;

/** Looks up the slot of a node; -1 for an unknown name. */
export interface SlotIndex {
  slotOf(name: string): number;
}

/**
 * The nodes of one request, as places in its bytes: names or whole Nodes, in the order they came. Valid until the index that
 * found their slots changes, or the next request is read into the same rows: whoever then asks how many there are, or for their
 * slots, gets an error and not the nodes of another pod.
 */
export class Candidates {
  readonly kind: "names" | "nodes";
  /** The whole request. */
  readonly body: Buffer;
  readonly #rows: RowTable;
  readonly #use: number;
  #lastProfile = "";
  #lastProfileBytes: Uint8Array = Buffer.alloc(0);

  constructor(kind: Candidates["kind"], body: Buffer, rows: RowTable) {
    this.kind = kind;
    this.body = body;
    this.#rows = rows;
    this.#use = rows.generation;
  }

  get count(): number {
    return this.#ownRows().count;
  }

  name(i: number): string {
    return this.#text(this.#cell(i, NAME_START), this.#cell(i, NAME_END));
  }

  /** The label of the profile; undefined without it, and where only names came. */
  powerProfile(i: number): string | undefined {
    if (this.kind === "names") return undefined;
    const start = this.#cell(i, PROFILE_START);
    const end = this.#cell(i, PROFILE_END);
    if (start === 0) return undefined;
    if (end < 0) return this.#text(start, end);
    // Thousands of nodes share two or three values.
    if (!this.#isLastProfile(start, end)) {
      this.#lastProfile = this.#text(start, end);
      this.#lastProfileBytes = this.body.subarray(start, end);
    }
    return this.#lastProfile;
  }

  /** The label that says a node is draining. */
  draining(i: number): string | undefined {
    if (this.kind === "names") return undefined;
    const start = this.#cell(i, DRAINING_START);
    return start === 0 ? undefined : this.#text(start, this.#cell(i, DRAINING_END));
  }

  /** The Node, byte for byte as it came. */
  raw(i: number): Buffer {
    if (this.kind === "names") throw new Error("only names came: there is no Node to give back");
    return this.body.subarray(this.#cell(i, START), this.#cell(i, END));
  }

  /** Where candidate i, a name in its quotes or a Node, starts in the body. */
  startOf(i: number): number {
    return this.kind === "names" ? this.#cell(i, NAME_START) - 1 : this.#cell(i, START);
  }

  endOf(i: number): number {
    return this.kind === "names" ? this.quotedNameEnd(i) : this.#cell(i, END);
  }

  /** The name in its quotes, as the request spells it: valid JSON for a reply. */
  quotedNameStart(i: number): number {
    return this.#cell(i, NAME_START) - 1;
  }

  quotedNameEnd(i: number): number {
    const end = this.#cell(i, NAME_END);
    return (end < 0 ? ~end : end) + 1;
  }

  /** Writes the slot of each candidate to the same place in `out`, -1 for an unknown name. */
  slots(index: SlotIndex, out: Int32Array): void {
    const { count } = this.#ownRows();
    if (count === 0) return;
    if (this.kind === "nodes") {
      for (let i = 0; i < count; i++) out[i] = index.slotOf(this.name(i));
      return;
    }
    // One JSON.parse of the list is faster than 5,000 calls to Buffer.toString.
    const list = `[${this.body.toString("utf8", this.startOf(0), this.endOf(count - 1))}]`;
    const names = JSON.parse(list) as readonly string[];
    for (let i = 0; i < count; i++) out[i] = index.slotOf(names[i] as string);
  }

  #ownRows(): RowTable {
    if (this.#rows.generation !== this.#use) throw new Error("another request was read into these candidates' rows");
    return this.#rows;
  }

  #cell(i: number, cell: number): number {
    if (!(i >= 0 && i < this.#rows.count)) throw new RangeError(`candidate ${i} of ${this.#rows.count}`);
    return this.#rows.cells[i * this.#rows.width + cell] as number;
  }

  #text(start: number, end: number): string {
    if (end >= 0) return this.body.toString("utf8", start, end);
    return JSON.parse(this.body.toString("utf8", start - 1, ~end + 1)) as string;
  }

  #isLastProfile(start: number, end: number): boolean {
    const last = this.#lastProfileBytes;
    if (last.length !== end - start) return false;
    for (let i = 0; i < last.length; i++) if (this.body[start + i] !== last[i]) return false;
    return true;
  }
}
