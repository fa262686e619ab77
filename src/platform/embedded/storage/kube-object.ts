import type { FieldTree } from "../patch/field-tree.ts";
import type { JsonObject } from "./json.ts";

interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface ManagedFields {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: "FieldsV1";
  readonly fieldsV1: FieldTree;
  readonly subresource?: string;
}

export interface ApiObjectMetadata extends JsonObject {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFields[];
}

/** A complete stored object. Never mutated. */
export interface ApiObject extends JsonObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: ApiObjectMetadata;
}

/** Kubernetes' timestamp format, in whole seconds. */
export const kubeTimestamp = (instant: number): string => `${new Date(instant).toISOString().slice(0, 19)}Z`;

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
