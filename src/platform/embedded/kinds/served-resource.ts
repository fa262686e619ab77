import type { Instant } from "../../../core/units/index.ts";
import type { FieldProblem } from "../api/status.ts";
import type { JsonObject } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import type { Schema } from "./builtin-schemas.ts";

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Columns above 0 appear only with `-o wide`. */
  readonly priority?: number;
  readonly cell: (object: ApiObject, now: Instant) => unknown;
}

/** A second representation of stored objects: core Events are a view of events.k8s.io Events. */
export interface StoredObjectView {
  readonly represent: (object: ApiObject) => ApiObject;
  readonly toStored: (object: JsonObject) => JsonObject;
}

/** A served kind, built in or from a CRD. */
export interface ServedResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly hasStatus: boolean;
  /** From a CRD: the server prunes unknown fields and enforces the schema. */
  readonly custom: boolean;
  /** `group/plural` of the collection that stores the objects. */
  readonly storedAs: string;
  readonly view?: StoredObjectView;
  readonly schema: Schema;
  /** Whether the server increments `metadata.generation` on spec changes. */
  readonly hasGeneration: boolean;
  /** Fields for `fieldSelector` besides metadata.name and metadata.namespace. */
  readonly selectable: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly columns: readonly Column[];
  /** Adds server-side defaults to a new object. */
  readonly completed?: (object: JsonObject) => JsonObject;
  /** Adjusts an update. */
  readonly merged?: (object: JsonObject) => JsonObject;
  readonly problems?: (object: JsonObject) => readonly FieldProblem[];
}

export const servedApiVersionOf = ({ group, version }: Pick<ServedResource, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;
