import type { NameIndex } from "./name-index.ts";
import type { Rows } from "./rows.ts";

/** A row's cells. A node without a label has 0 for its start: at 0 stands the body's first brace, never a string. */
export const NAME_START = 0;
/** As every end of a string here: negated (~) when the string has escapes. */
export const NAME_END = 1;
/** The slot, counted from 1; UNKNOWN where nobody has that name, 0 where it was not looked up. */
export const SLOT = 2;
export const UNKNOWN = -1;
export const START = 3;
export const END = 4;
export const PROFILE_START = 5;
export const PROFILE_END = 6;
export const NAME_ROW = 3;
export const DRAINING_START = 7;
export const DRAINING_END = 8;
export const NODE_ROW = 9;

/**
 * The nodes of one request, as places in its bytes: names or whole Nodes, in the order they came. Valid until the index that
 * found their slots changes, or the next request is read into the same rows: whoever then asks how many there are, or for their
 * slots, gets an error and not the nodes of another pod.
 */
export class Candidates {
  readonly kind: "names" | "nodes";
  /** The whole request. */
  readonly body: Buffer;
  readonly #rows: Rows;
  readonly #use: number;
  #lastProfile = "";
  #lastProfileBytes: Uint8Array = Buffer.alloc(0);

  constructor(kind: Candidates["kind"], body: Buffer, rows: Rows) {
    this.kind = kind;
    this.body = body;
    this.#rows = rows;
    this.#use = rows.uses;
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

  /** Writes the slot of each candidate to the same place in `out`, -1 for a name the index does not know. */
  slots(index: NameIndex, out: Int32Array): void {
    const { body } = this;
    const { count, cells, width } = this.#ownRows();
    for (let i = 0, row = 0; i < count; i++, row += width) {
      const found = cells[row + SLOT] as number;
      const start = cells[row + NAME_START] as number;
      const end = cells[row + NAME_END] as number;
      if (found !== 0) {
        out[i] = found === UNKNOWN ? -1 : found - 1;
      } else if (end >= 0) {
        out[i] = index.slotOf(body, start, end);
      } else {
        const name = Buffer.from(this.#text(start, end));
        out[i] = index.slotOf(name, 0, name.length);
      }
    }
  }

  #ownRows(): Rows {
    if (this.#rows.uses !== this.#use) throw new Error("another request was read into these candidates' rows");
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
