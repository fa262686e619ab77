import type { ApiObject } from "./kube-object.ts";

/** An object at one resourceVersion, with its JSON once someone asked for it. */
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

  /** Made once; throws where an object is too deep to have a text. */
  json(): string {
    this.#json ??= JSON.stringify(this.object);
    return this.#json;
  }
}

/** What happened to one object; `current` of a deletion is its last state, at the deletion's resourceVersion. */
export interface StoredChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  readonly current: StoredObject;
  readonly previous: StoredObject | undefined;
}
