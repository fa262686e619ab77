import { applyConflict } from "../api/status.ts";
import type { Schema } from "../kinds/schema.ts";
import type { JsonObject } from "../storage/json.ts";
import type { ManagedFields } from "../storage/kube-object.ts";
import { difference, type FieldTree, intersection, isEmpty, pathsOf, sameTree, union } from "./field-tree.ts";
import { branch, compareFields, fieldTreeOf, mergeApplied, withoutBranch, withoutUnownedFields } from "./ownership.ts";

/** A field manager with the operation and subresource of its write. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource?: "status";
  readonly time: string;
}

/** Server-managed fields, which have no owner. */
const serverOwned: readonly (readonly string[])[] = [
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata", "f:name"],
  ["f:metadata", "f:namespace"],
  ["f:metadata", "f:uid"],
  ["f:metadata", "f:resourceVersion"],
  ["f:metadata", "f:generation"],
  ["f:metadata", "f:creationTimestamp"],
  ["f:metadata", "f:deletionTimestamp"],
  ["f:metadata", "f:deletionGracePeriodSeconds"],
  ["f:metadata", "f:selfLink"],
  ["f:metadata", "f:managedFields"],
];

/** The fields a write may own: status fields only through the status subresource, all others only outside it. */
function ownable(tree: FieldTree, { subresource }: FieldManager, hasStatus: boolean): FieldTree {
  if (subresource === "status") return branch(tree, "f:status");
  const free = serverOwned.reduce((rest, path) => withoutBranch(rest, ...path), tree);
  return hasStatus ? withoutBranch(free, "f:status") : free;
}

const isEntryOf = (entry: ManagedFields, writer: FieldManager): boolean =>
  entry.manager === writer.manager &&
  entry.operation === writer.operation &&
  entry.apiVersion === writer.apiVersion &&
  entry.subresource === writer.subresource;

/** Replaces the manager's entry; its time changes only when its fields do. */
function withEntry(entries: readonly ManagedFields[], writer: FieldManager, fields: FieldTree): ManagedFields[] {
  const before = entries.find((entry) => isEntryOf(entry, writer));
  const others = entries.filter((entry) => entry !== before && !isEmpty(entry.fieldsV1));
  if (isEmpty(fields)) return others;
  if (before !== undefined && sameTree(before.fieldsV1, fields)) {
    return entries.filter((entry) => !isEmpty(entry.fieldsV1));
  }
  const { manager, operation, apiVersion, subresource, time } = writer;
  const fresh = { manager, operation, apiVersion, time, fieldsType: "FieldsV1", fieldsV1: fields } as const;
  return [...others, subresource === undefined ? fresh : { ...fresh, subresource }];
}

/** Ownership after an update: the writer becomes the only owner of changed fields, and removed fields lose their owners. */
export function ownersAfterUpdate(
  before: JsonObject,
  after: JsonObject,
  entries: readonly ManagedFields[],
  writer: FieldManager,
  schema: Schema | undefined,
  hasStatus: boolean,
): readonly ManagedFields[] {
  const { changed, removed } = compareFields(before, after, schema);
  if (isEmpty(changed) && isEmpty(removed)) return entries;
  const own = entries.find((entry) => isEntryOf(entry, writer))?.fieldsV1 ?? {};
  const others = entries.map((entry) => {
    const lost = union(changed, removed);
    return isEntryOf(entry, writer) ? entry : { ...entry, fieldsV1: difference(entry.fieldsV1, lost) };
  });
  const taken = ownable(changed, writer, hasStatus);
  return withEntry(others, writer, difference(union(own, taken), removed));
}

export interface Applied {
  readonly object: JsonObject;
  readonly owners: readonly ManagedFields[];
}

/**
 * Server-side apply of this manager's complete configuration. A field that another manager owns with a different value is a
 * conflict unless `force` is set. Removes fields that the manager applied before but not now, unless another manager owns them.
 */
export function applied(
  live: JsonObject,
  config: JsonObject,
  entries: readonly ManagedFields[],
  writer: FieldManager,
  schema: Schema | undefined,
  options: { readonly force: boolean; readonly hasStatus: boolean },
): Applied {
  const wanted = ownable(fieldTreeOf(config, schema), writer, options.hasStatus);
  const own = entries.find((entry) => isEntryOf(entry, writer));
  const others = entries.filter((entry) => entry !== own);
  const kept = others.reduce((all, entry) => union(all, entry.fieldsV1), wanted);
  const merged = mergeApplied(live, config, schema);
  const object = withoutUnownedFields(merged, own?.fieldsV1 ?? {}, kept, schema) as JsonObject;

  const { changed, removed } = compareFields(live, object, schema);
  const contested = ownable(changed, writer, options.hasStatus);
  const conflicts = others.map((entry) => intersection(entry.fieldsV1, contested));
  if (!options.force && conflicts.some((tree) => !isEmpty(tree))) throw applyConflict(causesOf(others, conflicts));
  const left = others.map((entry, index) => ({
    ...entry,
    fieldsV1: difference(difference(entry.fieldsV1, conflicts[index] ?? {}), removed),
  }));
  return { object, owners: withEntry(own === undefined ? left : [...left, own], writer, wanted) };
}

function causesOf(entries: readonly ManagedFields[], conflicts: readonly FieldTree[]) {
  return entries.flatMap((entry, index) => {
    const { manager, operation, apiVersion, subresource, time } = entry;
    const by = [
      `conflict with ${JSON.stringify(manager)}`,
      ...(subresource === undefined ? [] : [`with subresource ${JSON.stringify(subresource)}`]),
      ...(operation === "Update" ? [`using ${apiVersion} at ${time}`] : []),
    ].join(" ");
    return pathsOf(conflicts[index] ?? {}).map((field) => ({
      reason: "FieldManagerConflict" as const,
      message: by,
      field,
    }));
  });
}

/** Compares ownership entries, ignoring their times. */
export const sameOwners = (a: readonly ManagedFields[], b: readonly ManagedFields[]): boolean =>
  a.length === b.length &&
  a.every((entry) => {
    const other = b.find(
      (one) =>
        one.manager === entry.manager &&
        one.operation === entry.operation &&
        one.apiVersion === entry.apiVersion &&
        one.subresource === entry.subresource,
    );
    return other !== undefined && sameTree(entry.fieldsV1, other.fieldsV1);
  });
