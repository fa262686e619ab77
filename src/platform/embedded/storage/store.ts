import { Collection, keyOf } from "./collection.ts";
import type { ApiObject } from "./kube-object.ts";
import { Snapshots } from "./snapshots.ts";
import { type StoredChange, StoredObject } from "./stored-object.ts";

export type StoreListener = (change: StoredChange, collection: Collection) => void;

/** Everything the API keeps, under one counter of resourceVersions. In memory, and gone with the process. */
export class EmbeddedStore {
  readonly snapshots = new Snapshots();
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

  /** Called after each change, once it is stored. A listener may itself change the store. */
  listen(listener: StoreListener): void {
    this.#listeners.push(listener);
  }

  put(collection: Collection, object: ApiObject): StoredObject {
    const { namespace, name } = object.metadata;
    const previous = collection.get(keyOf(namespace, name));
    return this.#record(collection, previous === undefined ? "ADDED" : "MODIFIED", object, previous);
  }

  remove(collection: Collection, stored: StoredObject): StoredObject {
    return this.#record(collection, "DELETED", stored.object, stored);
  }

  /** Forgets history and open pages: the next watch from an older resourceVersion, or the next page, gets 410. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.history.compact(this.#version);
    this.snapshots.clear();
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
    const current = new StoredObject(keyOf(namespace, name), { ...object, metadata }, version);
    // What has no text could be stored and never be listed: it fails here, before anything has changed.
    if (type !== "DELETED") current.json();
    this.#version = version;
    const change = { type, version, current, previous };
    collection.record(change);
    for (const listener of this.#listeners) listener(change, collection);
    return current;
  }
}
