import { type KubeObject, keyOf } from "../client/object.ts";
import type { Change, ChangeListener, IndexKeys, ObjectStore, ObjectVersion } from "./object-store.ts";
import { comesAfter } from "./resource-version.ts";
import type { WatchEvent } from "./watch-events.ts";

export interface ListWatchSyncOptions<Value, Index extends string> {
  readonly store: ObjectStore<Value, Index>;
  /** Projects an object; undefined skips it. An object for which this or an index function throws is reported and skipped. */
  readonly project: (object: KubeObject) => Value | undefined;
  readonly onChange: ChangeListener<Value>;
  /** Called once per unparsable object, until it parses or is deleted. */
  readonly onUnreadable: (key: string, error: unknown) => void;
}

interface Read<Value> {
  readonly version: ObjectVersion;
  readonly value: Value;
  readonly words: IndexKeys;
}
type Listed<Value> = Read<Value> | "as it is" | "not of interest";

/** Applies lists and watch events to a store and emits each change once and in order, also if events are lost. */
export class ListWatchSync<Value, Index extends string> {
  readonly #options: ListWatchSyncOptions<Value, Index>;
  readonly #unreadable = new Map<string, string>();
  #listed = new Map<string, Listed<Value>>();
  #resourceVersion = "";

  constructor(options: ListWatchSyncOptions<Value, Index>) {
    this.#options = options;
  }

  /** The resourceVersion from which a watch continues. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  beginList(): void {
    this.#listed = new Map();
  }

  /** Projects a page immediately to free its objects; the store changes only when the list is complete. */
  addPage(items: readonly KubeObject[]): void {
    for (const item of items) {
      const key = keyOf(item.metadata);
      const version = versionOf(item);
      const stored = this.#options.store.version(key);
      const unchanged = stored?.uid === version.uid && stored.resourceVersion === version.resourceVersion;
      this.#listed.set(key, unchanged ? "as it is" : this.#read(key, version, item, stored));
    }
  }

  endList(resourceVersion: string): void {
    const { store } = this.#options;
    const changes: Change<Value>[] = [];
    for (const key of store.keys()) {
      const listed = this.#listed.get(key);
      if (listed === undefined || listed === "not of interest") push(changes, store.delete(key));
    }
    for (const [key, listed] of this.#listed) {
      if (typeof listed === "object") push(changes, store.set(key, listed.version, listed.value, listed.words));
    }
    for (const key of this.#unreadable.keys()) if (!this.#listed.has(key)) this.#unreadable.delete(key);
    this.#listed = new Map();
    this.#resourceVersion = resourceVersion;
    this.#tell(changes);
  }

  apply(events: readonly WatchEvent[]): void {
    const changes: Change<Value>[] = [];
    try {
      for (const { type, object } of events) {
        const { resourceVersion = "" } = object.metadata;
        if (type === "DELETED") this.#delete(object, changes);
        // Skips events that are not newer than the current resourceVersion: they were already applied.
        else if (comesAfter(resourceVersion, this.#resourceVersion) === false) continue;
        else if (type !== "BOOKMARK") this.#put(object, changes);
        if (comesAfter(resourceVersion, this.#resourceVersion) !== false) this.#resourceVersion = resourceVersion;
      }
    } finally {
      // Emits the applied changes even if a later event throws.
      this.#tell(changes);
    }
  }

  #put(object: KubeObject, changes: Change<Value>[]): void {
    const { store } = this.#options;
    const key = keyOf(object.metadata);
    const version = versionOf(object);
    const stored = store.version(key);
    if (stored?.uid === version.uid && stored.resourceVersion === version.resourceVersion) return;
    const read = this.#read(key, version, object, stored);
    if (read === "as it is") return;
    const isGone = read === "not of interest";
    push(changes, isGone ? store.delete(key) : store.set(key, version, read.value, read.words));
  }

  /** Compares uids: a late delete must not remove a recreated object of the same name. */
  #delete(object: KubeObject, changes: Change<Value>[]): void {
    const { store } = this.#options;
    const key = keyOf(object.metadata);
    const version = versionOf(object);
    const stored = store.version(key);
    if (this.#unreadable.get(key) === version.uid) this.#unreadable.delete(key);
    if (stored?.uid !== version.uid) return;
    // With a selector an object may leave and return; an old DELETED event must not remove the returned object.
    if (comesAfter(stored.resourceVersion, version.resourceVersion) === true) return;
    push(changes, store.delete(key));
  }

  #read(key: string, version: ObjectVersion, object: KubeObject, stored: ObjectVersion | undefined): Listed<Value> {
    const { store } = this.#options;
    try {
      const value = this.#options.project(object);
      const read = value === undefined ? "not of interest" : { version, value, words: store.indexKeysOf(value) };
      this.#unreadable.delete(key);
      return read;
    } catch (error) {
      if (this.#unreadable.get(key) !== version.uid) this.#options.onUnreadable(key, error);
      this.#unreadable.set(key, version.uid);
      // Keeps the last parsable state of the same object.
      return stored?.uid === version.uid ? "as it is" : "not of interest";
    }
  }

  #tell(changes: readonly Change<Value>[]): void {
    if (changes.length > 0) this.#options.onChange(changes);
  }
}

const versionOf = ({ metadata: { uid = "", resourceVersion = "" } }: KubeObject): ObjectVersion => ({
  uid,
  resourceVersion,
});

function push<Value>(changes: Change<Value>[], more: readonly Change<Value>[]): void {
  for (const change of more) changes.push(change);
}
