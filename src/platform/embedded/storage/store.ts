import type { RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { expired } from "../api/status.ts";
import type { Registry } from "../kinds/registry.ts";
import { type ApiObject, type StoredChange, StoredObject } from "./kube-object.ts";

export type StoreListener = (change: StoredChange, collection: Collection) => void;

/** The in-memory store of all kinds, with one resourceVersion counter. */
export class EmbeddedStore {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners: StoreListener[] = [];
  readonly #historyLimit: number;
  #version = 1;

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get version(): number {
    return this.#version;
  }

  collection(id: string): Collection {
    const known = this.#collections.get(id);
    if (known !== undefined) return known;
    const fresh = new Collection(id, this.#historyLimit, this.#version);
    this.#collections.set(id, fresh);
    return fresh;
  }

  get collections(): Iterable<Collection> {
    return this.#collections.values();
  }

  /** Calls the listener after each stored change. A listener may write to the store. */
  listen(listener: StoreListener): void {
    this.#listeners.push(listener);
  }

  put(collection: Collection, object: ApiObject): StoredObject {
    const { namespace, name } = object.metadata;
    const previous = collection.get(storageKeyOf(namespace, name));
    return this.#record(collection, previous === undefined ? "ADDED" : "MODIFIED", object, previous);
  }

  remove(collection: Collection, stored: StoredObject): StoredObject {
    return this.#record(collection, "DELETED", stored.object, stored);
  }

  /** Drops the history: a watch or a continue token from an older resourceVersion gets 410. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.history.compact(this.#version);
  }

  #record(
    collection: Collection,
    type: StoredChange["type"],
    object: ApiObject,
    previous: StoredObject | undefined,
  ): StoredObject {
    const version = this.#version + 1;
    const { namespace, name } = object.metadata;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    const current = new StoredObject(storageKeyOf(namespace, name), { ...object, metadata }, version);
    // An object that cannot be serialized could never be listed, so it fails here, before any state changes.
    if (type !== "DELETED") current.json();
    this.#version = version;
    const change = { type, version, current, previous };
    collection.record(change);
    for (const listener of this.#listeners) listener(change, collection);
    return current;
  }
}

/** The shared state of the API server. */
export interface Server {
  readonly store: EmbeddedStore;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: RandomSource;
}

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

function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

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
