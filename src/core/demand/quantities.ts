import type { ResourceList } from "../api/index.ts";
import { parseQuantity } from "../units/index.ts";

/** A quantity that could not be parsed. It counts as missing and is reported. */
export interface UnreadableQuantity {
  readonly resource: string;
  readonly text: string;
}

/** Parses quantities and collects the unreadable ones, once per resource and text. */
export class QuantityReader {
  #unreadable: Map<string, UnreadableQuantity> | undefined;

  get unreadable(): readonly UnreadableQuantity[] {
    return this.#unreadable === undefined ? allRead : [...this.#unreadable.values()];
  }

  /** Returns undefined for absent, malformed and negative quantities, and records the last two. */
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

/** JSON may contain anything here, including objects that cannot be converted to text. */
const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : value === null ? "null" : typeof value;

const allRead: readonly never[] = [];

/** Quantities are multiples of one billionth, so rounding there gives the exact sum: ten times 100m is exactly one core. */
export function addQuantities(one: number, other: number): number {
  const sum = one + other;
  return Number.isInteger(sum) ? sum : Number(sum.toFixed(9));
}
