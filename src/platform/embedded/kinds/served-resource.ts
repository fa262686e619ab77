import type { Instant } from "../../../core/units/index.ts";
import type { FieldProblem } from "../api/status.ts";
import type { JsonObject } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import type { Schema } from "./schema.ts";

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0 it shows only with `-o wide`. */
  readonly priority?: number;
  readonly cell: (object: ApiObject, now: Instant) => unknown;
}

/** Another face of stored objects: the core group's Events are the same ones as those of events.k8s.io. */
export interface StoredObjectView {
  readonly shown: (object: ApiObject) => ApiObject;
  readonly stored: (object: JsonObject) => JsonObject;
}

/** One kind as the API serves it, whether built in or from a CRD. */
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
  /** From a CRD: unknown fields are dropped, and the schema is enforced. */
  readonly custom: boolean;
  /** `group/plural` of the collection that keeps the objects. */
  readonly storedAs: string;
  readonly view?: StoredObjectView;
  readonly schema: Schema;
  /** Whether `metadata.generation` counts changes of what is asked for. */
  readonly hasGeneration: boolean;
  /** Whether a PUT without a resourceVersion overwrites, whatever is there. */
  readonly overwritable: boolean;
  /** Names of objects that may not be deleted; a kind that has some is not deleted by selection either. */
  readonly undeletableNames?: readonly string[];
  /** What `fieldSelector` may name beyond metadata.name and metadata.namespace. */
  readonly selectable: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly columns: readonly Column[];
  /** What the server itself adds to a new object. */
  readonly completed?: (object: JsonObject) => JsonObject;
  /** What the server changes in an update, given what was stored. */
  readonly merged?: (object: JsonObject, before: ApiObject) => JsonObject;
  readonly problems?: (object: JsonObject, before: ApiObject | undefined) => readonly FieldProblem[];
}

export const apiVersionOf = ({ group, version }: Pick<ServedResource, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;
