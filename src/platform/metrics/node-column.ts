import { escapeLabelValue } from "./exposition.ts";
import type { NodeRow } from "./node-rows.ts";

/** No number: there is no value, and so no line. */
const ABSENT = Number.NaN;

/**
 * One value for each node under the same other labels. What stands before the value on a line never changes while a node stays, so
 * it is made once: a scrape then puts numbers behind ready text, which is what makes it fast.
 */
export class NodeColumn {
  readonly #head: string;
  readonly #tail: string;
  /** As long as the values from the start: an array that grows by leaps becomes a hash table. */
  #prefixes: (string | undefined)[];
  #values: Float64Array;

  /** A line is head, the node's name, tail, value. */
  constructor(head: string, tail: string, slots: number) {
    this.#head = head;
    this.#tail = tail;
    this.#values = new Float64Array(slots).fill(ABSENT);
    this.#prefixes = Array.from({ length: slots });
  }

  get(row: NodeRow): number | undefined {
    const value = this.#values[row.slot];
    return value === undefined || Number.isNaN(value) ? undefined : value;
  }

  /** What is no finite number is no value. */
  set(row: NodeRow, value: number | undefined): void {
    if (row.slot < 0) return;
    this.#values[row.slot] = value !== undefined && Number.isFinite(value) ? value : ABSENT;
  }

  makeRoom(slots: number): void {
    if (slots <= this.#values.length) return;
    const values = new Float64Array(slots).fill(ABSENT);
    values.set(this.#values);
    this.#values = values;
    this.#prefixes = Array.from({ length: slots }, (_, slot) => this.#prefixes[slot]);
  }

  /** The next node in this slot begins with nothing. */
  empty(slot: number): void {
    this.#values[slot] = ABSENT;
    this.#prefixes[slot] = undefined;
  }

  /** The lines of the rows from one place to another. */
  lines(rows: readonly NodeRow[], from: number, to: number): string {
    let text = "";
    for (let at = from; at < to; at++) {
      const row = rows[at];
      if (row === undefined || row.slot < 0) continue;
      const value = this.#values[row.slot];
      if (value === undefined || Number.isNaN(value)) continue;
      text += `${this.#prefixes[row.slot] ?? this.#prefixOf(row)}${value}\n`;
    }
    return text;
  }

  #prefixOf(row: NodeRow): string {
    // join makes one piece of text, where + would leave a chain of three to follow at every scrape.
    const prefix = [this.#head, escapeLabelValue(row.name), this.#tail].join("");
    this.#prefixes[row.slot] = prefix;
    return prefix;
  }
}
