import type { KubeObject } from "./kube-object.ts";

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

  /** Made once; throws where an object is too deep to have a text. */
  json(): string {
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
