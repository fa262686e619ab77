import { applyConflict } from "../api/status.ts";
import { fieldSchema, itemsByKey, type Schema, structureOf } from "../kinds/builtin-schemas.ts";
import { equal, isJsonObject, type JsonObject } from "../storage/json.ts";
import type { ManagedFields } from "../storage/kube-object.ts";
import { child, difference, type FieldTree, intersection, isEmpty, MEMBER, pathsOf, union } from "./field-tree.ts";

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
  if (before !== undefined && equal(before.fieldsV1, fields)) {
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
export function sameOwners(a: readonly ManagedFields[], b: readonly ManagedFields[]): boolean {
  const timeless = (entries: readonly ManagedFields[]) => entries.map(({ time: _time, ...entry }) => entry);
  return equal(timeless(a), timeless(b));
}

export function fieldTreeOf(value: unknown, schema: Schema | undefined): FieldTree {
  const structure = structureOf(value, schema);
  if (structure === "fields") {
    const fields = Object.entries(value as JsonObject);
    return Object.fromEntries(fields.map(([key, inner]) => [`f:${key}`, fieldTreeOf(inner, fieldSchema(schema, key))]));
  }
  if (structure === "leaf") return MEMBER;
  const items = [...itemsByKey(value as unknown[], schema, structure)];
  if (structure === "set") return Object.fromEntries(items.map(([element]) => [element, MEMBER]));
  return Object.fromEntries(
    items.map(([element, item]) => [element, { ".": MEMBER, ...fieldTreeOf(item, schema?.items) }]),
  );
}

interface FieldComparison {
  readonly changed: FieldTree;
  readonly removed: FieldTree;
}

const NOTHING: FieldComparison = { changed: {}, removed: {} };

/** Compares the values at one path; undefined means no value. */
function compareAt(
  before: unknown,
  after: unknown,
  schema: Schema | undefined,
): [FieldTree | undefined, FieldTree | undefined] {
  if (before === undefined) return [fieldTreeOf(after, schema), undefined];
  if (after === undefined) return [undefined, fieldTreeOf(before, schema)];
  const structure = structureOf(after, schema);
  if (structure !== structureOf(before, schema) || structure === "leaf" || (isBare(before) && isBare(after))) {
    return equal(before, after) ? [undefined, undefined] : [fieldTreeOf(after, schema), undefined];
  }
  const pairs: Iterable<[string, unknown, unknown, Schema | undefined]> =
    structure === "fields"
      ? fieldPairs(before as JsonObject, after as JsonObject, schema)
      : itemPairs(
          itemsByKey(before as unknown[], schema, structure),
          itemsByKey(after as unknown[], schema, structure),
          schema,
        );
  const changed: [string, FieldTree][] = [];
  const removed: [string, FieldTree][] = [];
  for (const [element, old, fresh, below] of pairs) {
    if (old === fresh) continue;
    const [more, less] = compareAt(old, fresh, below);
    // An added or removed item is itself a member, in addition to its fields.
    const whole = (tree: FieldTree) => (element.startsWith("k:") && !isEmpty(tree) ? { ".": MEMBER, ...tree } : tree);
    if (more !== undefined) changed.push([element, old === undefined ? whole(more) : more]);
    if (less !== undefined) removed.push([element, fresh === undefined ? whole(less) : less]);
  }
  return [
    changed.length === 0 ? undefined : Object.fromEntries(changed),
    removed.length === 0 ? undefined : Object.fromEntries(removed),
  ];
}

const isBare = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isJsonObject(value) && isEmpty(value as FieldTree);

function* fieldPairs(before: JsonObject, after: JsonObject, schema: Schema | undefined) {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    const fresh = Object.hasOwn(after, key) ? after[key] : undefined;
    yield [`f:${key}`, old, fresh, fieldSchema(schema, key)] as [string, unknown, unknown, Schema | undefined];
  }
}

function* itemPairs(before: Map<string, unknown>, after: Map<string, unknown>, schema: Schema | undefined) {
  for (const element of new Set([...before.keys(), ...after.keys()])) {
    yield [element, before.get(element), after.get(element), schema?.items] as [
      string,
      unknown,
      unknown,
      Schema | undefined,
    ];
  }
}

function compareFields(before: JsonObject, after: JsonObject, schema: Schema | undefined): FieldComparison {
  if (before === after) return NOTHING;
  const [changed, removed] = compareAt(before, after, schema);
  return { changed: changed ?? {}, removed: removed ?? {} };
}

/** Merges `config` into `live` by the rules of server-side apply. */
function mergeApplied(live: unknown, config: unknown, schema: Schema | undefined): unknown {
  const structure = structureOf(config, schema);
  if (live === undefined || structure === "leaf" || structureOf(live, schema) !== structure) return config;
  if (structure === "fields") {
    const from = live as JsonObject;
    const merged = Object.entries(config as JsonObject).map(([key, value]) => [
      key,
      mergeApplied(Object.hasOwn(from, key) ? from[key] : undefined, value, fieldSchema(schema, key)),
    ]);
    return { ...from, ...Object.fromEntries(merged) };
  }
  const items = itemsByKey(live as unknown[], schema, structure);
  for (const [element, item] of itemsByKey(config as unknown[], schema, structure)) {
    items.set(element, mergeApplied(items.get(element), item, schema?.items));
  }
  return [...items.values()];
}

/** Removes the fields in `drop` that are not in `keep`; removes an object as a whole when `keep` has none of its fields. */
function withoutUnownedFields(value: unknown, drop: FieldTree, keep: FieldTree, schema: Schema | undefined): unknown {
  const structure = structureOf(value, schema);
  if (structure === "leaf") return value;
  const survivor = (element: string, inner: unknown, below: Schema | undefined): unknown => {
    const [dropped, kept] = [child(drop, element), child(keep, element)];
    if (dropped === undefined) return inner;
    return kept === undefined ? undefined : withoutUnownedFields(inner, dropped, kept, below);
  };
  if (structure === "fields") {
    const fields = Object.entries(value as JsonObject).map(
      ([key, inner]) => [key, survivor(`f:${key}`, inner, fieldSchema(schema, key))] as const,
    );
    return Object.fromEntries(fields.filter(([, inner]) => inner !== undefined));
  }
  const items = [...itemsByKey(value as unknown[], schema, structure)];
  return items.map(([element, item]) => survivor(element, item, schema?.items)).filter((item) => item !== undefined);
}

const withoutBranch = (tree: FieldTree, ...path: readonly string[]): FieldTree => {
  const [first, ...rest] = path;
  if (first === undefined) return {};
  const below = child(tree, first);
  if (below === undefined) return tree;
  const inner = withoutBranch(below, ...rest);
  const { [first]: _, ...others } = tree;
  return isEmpty(inner) ? others : { ...others, [first]: inner };
};

const branch = (tree: FieldTree, element: string): FieldTree => {
  const below = child(tree, element);
  return below === undefined ? {} : { [element]: below };
};
