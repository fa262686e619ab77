import type { Change, Stored } from "./stored.ts";
import { WatchHistory } from "./watch-history.ts";

export const keyOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

/** All objects of one kind, in the order of their keys, and what lately became of them. */
export class Collection {
  readonly id: string;
  readonly history: WatchHistory;
  readonly #entries = new Map<string, Stored>();
  readonly #listeners = new Set<(change: Change) => void>();
  #keys: readonly string[] | undefined = [];

  constructor(id: string, historyLimit: number, version: number) {
    this.id = id;
    this.history = new WatchHistory(historyLimit, version);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Stored | undefined {
    return this.#entries.get(key);
  }

  /** In key order; of one namespace where asked. */
  list(namespace?: string): Stored[] {
    // Sorted again only after something came or went, and then almost sorted already.
    this.#keys ??= [...this.#entries.keys()].toSorted(byCodeUnits);
    const keys = namespace === undefined ? this.#keys : this.#keys.filter((key) => key.startsWith(`${namespace}/`));
    return keys.flatMap((key) => this.#entries.get(key) ?? []);
  }

  record(change: Change): void {
    const { key } = change.current;
    if (change.type === "DELETED") this.#entries.delete(key);
    else this.#entries.set(key, change.current);
    if (change.type !== "MODIFIED") this.#keys = undefined;
    this.history.add(change);
    for (const listener of this.#listeners) listener(change);
  }

  follow(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
