/** A change of one object. A recreated object (new uid) gives two changes: a delete and an add. */
export type Change<Value> =
  | { readonly type: "added"; readonly key: string; readonly new: Value }
  | { readonly type: "updated"; readonly key: string; readonly old: Value; readonly new: Value }
  | { readonly type: "deleted"; readonly key: string; readonly old: Value };

export type ChangeListener<Value> = (changes: readonly Change<Value>[]) => void;

/** Index functions: return the index key of a value, or undefined to leave it out. */
export type IndexFunctions<Value, Index extends string> = Readonly<Record<Index, (value: Value) => string | undefined>>;

/** The read-only interface of a store. */
export interface StoreView<Value, Index extends string = never> {
  readonly size: number;
  getByKey(key: string): Value | undefined;
  values(): IterableIterator<Value>;
  entries(): IterableIterator<[key: string, value: Value]>;
  /** All values with this index key, for example the pods of a node. */
  by(index: Index, word: string): Iterable<Value>;
}

/** The uid and resourceVersion of the object that a value was projected from. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The index keys of a value, in the order of the indexes. */
export type IndexKeys = readonly (string | undefined)[];

interface Stored<Value> extends ObjectVersion {
  readonly value: Value;
  /** Stored, so that removal from the indexes does not depend on the index functions. */
  readonly words: IndexKeys;
}

/** Stores projected objects by key, with incrementally updated indexes. */
export class ObjectStore<Value, Index extends string = never> implements StoreView<Value, Index> {
  readonly #records = new Map<string, Stored<Value>>();
  readonly #wordsOf: readonly ((value: Value) => string | undefined)[];
  readonly #indexes = new Map<string, Map<string, Map<string, Value>>>();

  constructor(indexes: IndexFunctions<Value, Index>) {
    this.#wordsOf = Object.values(indexes);
    for (const index of Object.keys(indexes)) this.#indexes.set(index, new Map());
  }

  get size(): number {
    return this.#records.size;
  }

  getByKey(key: string): Value | undefined {
    return this.#records.get(key)?.value;
  }

  *values(): IterableIterator<Value> {
    for (const { value } of this.#records.values()) yield value;
  }

  *entries(): IterableIterator<[string, Value]> {
    for (const [key, { value }] of this.#records) yield [key, value];
  }

  by(index: Index, word: string): Iterable<Value> {
    return this.#indexes.get(index)?.get(word)?.values() ?? [];
  }

  keys(): IterableIterator<string> {
    return this.#records.keys();
  }

  version(key: string): ObjectVersion | undefined {
    return this.#records.get(key);
  }

  /** Propagates errors of the index functions. */
  indexKeysOf(value: Value): IndexKeys {
    return this.#wordsOf.length === 0 ? NO_WORDS : this.#wordsOf.map((wordOf) => wordOf(value));
  }

  /** Sets a value and returns the changes: a different uid means a delete and an add. */
  set(
    key: string,
    { uid, resourceVersion }: ObjectVersion,
    value: Value,
    words: IndexKeys = this.indexKeysOf(value),
  ): Change<Value>[] {
    const old = this.#records.get(key);
    const stored = { uid, resourceVersion, value, words };
    this.#records.set(key, stored);
    this.#reindex(key, old, stored);
    if (old === undefined) return [{ type: "added", key, new: value }];
    if (old.uid === uid) return [{ type: "updated", key, old: old.value, new: value }];
    return [
      { type: "deleted", key, old: old.value },
      { type: "added", key, new: value },
    ];
  }

  delete(key: string): Change<Value>[] {
    const old = this.#records.get(key);
    if (old === undefined) return [];
    this.#records.delete(key);
    this.#reindex(key, old, undefined);
    return [{ type: "deleted", key, old: old.value }];
  }

  #reindex(key: string, old: Stored<Value> | undefined, stored: Stored<Value> | undefined): void {
    let index = 0;
    for (const words of this.#indexes.values()) {
      const before = old?.words[index];
      const word = stored?.words[index];
      index++;
      if (before !== undefined && before !== word) {
        const members = words.get(before);
        members?.delete(key);
        // Removes empty index keys, because thousands of nodes come and go.
        if (members?.size === 0) words.delete(before);
      }
      if (word !== undefined && stored !== undefined) {
        let members = words.get(word);
        if (members === undefined) words.set(word, (members = new Map()));
        members.set(key, stored.value);
      }
    }
  }
}

const NO_WORDS: IndexKeys = [];
