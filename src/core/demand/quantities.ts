import type { ResourceList } from "../api/index.ts";
import { parseQuantity } from "../units/index.ts";

/** An amount that could not be read; it counts as missing, and its reader hands it on to be reported. */
export interface UnreadableQuantity {
  readonly resource: string;
  readonly text: string;
}

/** Collects what could not be read, once per resource and text. */
export class QuantityReader {
  #unreadable: Map<string, UnreadableQuantity> | undefined;

  get unreadable(): readonly UnreadableQuantity[] {
    return this.#unreadable === undefined ? allRead : [...this.#unreadable.values()];
  }

  /** Absent, malformed and negative amounts are undefined; the last two are remembered. */
  amount(list: ResourceList | undefined, resource: string): number | undefined {
    if (!list || !Object.hasOwn(list, resource)) return undefined;
    const text = textOf(list[resource]);
    const read = parseQuantity(text);
    if (read.ok && read.value >= 0) return read.value;
    this.#unreadable ??= new Map();
    this.#unreadable.set(`${resource} ${text}`, { resource, text });
    return undefined;
  }
}

/** JSON may hold anything in a quantity's place, also objects that say no text of themselves. */
const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : value === null ? "null" : typeof value;

const allRead: readonly never[] = [];

/** Quantities are whole billionths, so rounding there gives the exact sum back: ten times 100m is one core and fits on one. */
export function addQuantities(one: number, other: number): number {
  const sum = one + other;
  return Number.isInteger(sum) ? sum : Number(sum.toFixed(9));
}
