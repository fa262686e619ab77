import type { ApiObject } from "./kube-object.ts";

/** An object at one resourceVersion, with lazily cached JSON. */
export class StoredObject {
  readonly key: string;
  readonly object: ApiObject;
  readonly version: number;
  #json: string | undefined;

  constructor(key: string, object: ApiObject, version: number) {
    this.key = key;
    this.object = object;
    this.version = version;
  }

  /** Serializes once; throws when the object is nested too deeply. */
  json(): string {
    this.#json ??= JSON.stringify(this.object);
    return this.#json;
  }
}

/** A change of one object. For a deletion, `current` is the last state at the deletion's resourceVersion. */
export interface StoredChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  readonly current: StoredObject;
  readonly previous: StoredObject | undefined;
}
