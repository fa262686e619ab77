import type { Instant } from "../../../core/units/index.ts";
import type { FieldProblem } from "../api/status.ts";
import type { Fields } from "../storage/json.ts";
import type { KubeObject } from "../storage/kube-object.ts";
import type { Schema } from "./schema.ts";

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0 it shows only with `-o wide`. */
  readonly priority?: number;
  readonly cell: (object: KubeObject, now: Instant) => unknown;
}

/** Another face of stored objects: the core group's Events are the same ones as those of events.k8s.io. */
export interface View {
  readonly shown: (object: KubeObject) => KubeObject;
  readonly stored: (object: Fields) => Fields;
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
  readonly view?: View;
  readonly schema: Schema;
  /** Whether `metadata.generation` counts changes of what is asked for. */
  readonly counted: boolean;
  /** Whether a PUT without a resourceVersion overwrites, whatever is there. */
  readonly overwritable: boolean;
  /** Names of objects that may not be deleted; a kind that has some is not deleted by selection either. */
  readonly lasting?: readonly string[];
  /** What `fieldSelector` may name beyond metadata.name and metadata.namespace. */
  readonly selectable: Readonly<Record<string, (object: KubeObject) => string>>;
  readonly columns: readonly Column[];
  /** What the server itself adds to a new object. */
  readonly completed?: (object: Fields) => Fields;
  /** What the server changes in an update, given what was stored. */
  readonly merged?: (object: Fields, before: KubeObject) => Fields;
  readonly problems?: (object: Fields, before: KubeObject | undefined) => readonly FieldProblem[];
}

export const apiVersionOf = ({ group, version }: Pick<ServedResource, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;
