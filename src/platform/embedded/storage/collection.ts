import { expired } from "../api/status.ts";
import type { StoredChange, StoredObject } from "./kube-object.ts";

export const storageKeyOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

/** All objects of one kind in key order, with their recent changes. */
export class Collection {
  readonly id: string;
  readonly history: WatchHistory;
  readonly #entries = new Map<string, StoredObject>();
  readonly #listeners = new Set<(change: StoredChange) => void>();
  #keys: readonly string[] | undefined = [];

  constructor(id: string, historyLimit: number, version: number) {
    this.id = id;
    this.history = new WatchHistory(historyLimit, version);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): StoredObject | undefined {
    return this.#entries.get(key);
  }

  /** Objects in key order, optionally of one namespace. */
  list(namespace?: string): StoredObject[] {
    // Sorts only after an object was added or deleted; the keys are then almost sorted.
    this.#keys ??= [...this.#entries.keys()].toSorted(byCodeUnits);
    const keys = namespace === undefined ? this.#keys : this.#keys.filter((key) => key.startsWith(`${namespace}/`));
    return keys.flatMap((key) => this.#entries.get(key) ?? []);
  }

  record(change: StoredChange): void {
    const { key } = change.current;
    if (change.type === "DELETED") this.#entries.delete(key);
    else this.#entries.set(key, change.current);
    if (change.type !== "MODIFIED") this.#keys = undefined;
    this.history.add(change);
    for (const listener of this.#listeners) listener(change);
  }

  follow(listener: (change: StoredChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The recent changes of a collection, for watches to resume from. Drops older ones, like etcd's compaction. */
class WatchHistory {
  readonly #limit: number;
  #changes: StoredChange[] = [];
  /** Changes up to this resourceVersion were dropped. */
  #floor: number;

  constructor(limit: number, floor: number) {
    this.#limit = limit;
    this.#floor = floor;
  }

  add(change: StoredChange): void {
    this.#changes.push(change);
    // Drops half at once: dropping one at a time would copy the list on every change.
    if (this.#changes.length <= this.#limit) return;
    const kept = Math.floor(this.#limit / 2);
    this.#floor = this.#changes[this.#changes.length - kept - 1]?.version ?? this.#floor;
    this.#changes = kept === 0 ? [] : this.#changes.slice(-kept);
  }

  /** Drops all changes up to `version`. */
  compact(version: number): void {
    this.#floor = Math.max(this.#floor, version);
    this.#changes = this.#changes.filter((change) => change.version > version);
  }

  /** The changes after `version`; throws 410 when some of them were dropped. */
  since(version: number): readonly StoredChange[] {
    if (version < this.#floor) throw expired(`too old resource version: ${version} (${this.#floor})`);
    let start = this.#changes.length;
    while (start > 0 && (this.#changes[start - 1]?.version ?? 0) > version) start--;
    return this.#changes.slice(start);
  }
}
