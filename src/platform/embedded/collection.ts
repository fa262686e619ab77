import type { KubeObject } from "./kube-object.ts";
import { WatchHistory } from "./watch-history.ts";

/** An object at one resourceVersion, with its JSON once someone asked for it. */
export class Stored {
  readonly key: string;
  readonly object: KubeObject;
  readonly version: number;
  #json: string | undefined;

  constructor(key: string, object: KubeObject, version: number) {
    this.key = key;
    this.object = object;
    this.version = version;
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.object);
    return this.#json;
  }
}

/** What happened to one object; `current` of a deletion is its last state, at the deletion's resourceVersion. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  readonly current: Stored;
  readonly previous: Stored | undefined;
}

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
