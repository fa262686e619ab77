import type { RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { Registry } from "../kinds/registry.ts";
import { Collection, storageKeyOf } from "./collection.ts";
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
