import { escapeLabelValue } from "./exposition.ts";
import type { NodeRow } from "./node-rows.ts";

/** NaN: no value, so no line. */
const ABSENT = Number.NaN;

/**
 * One value per node under the same other labels. The text before the value never changes while a node exists, so it is built
 * once; a scrape only appends numbers to it.
 */
export class NodeColumn {
  readonly #head: string;
  readonly #tail: string;
  /** Allocated at full length, because an array that grows in leaps becomes a hash table. */
  #prefixes: (string | undefined)[];
  #values: Float64Array;

  /** A line is head, node name, tail, value. */
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

  /** A value that is not finite counts as no value. */
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

  /** Resets the slot for the next node. */
  empty(slot: number): void {
    this.#values[slot] = ABSENT;
    this.#prefixes[slot] = undefined;
  }

  /** The lines of a range of rows. */
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
    // join creates a flat string; + would leave a rope of three pieces that every scrape has to traverse.
    const prefix = [this.#head, escapeLabelValue(row.name), this.#tail].join("");
    this.#prefixes[row.slot] = prefix;
    return prefix;
  }
}
