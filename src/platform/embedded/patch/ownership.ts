import { fieldSchema, itemsByKey, type Schema, structureOf } from "../kinds/schema.ts";
import { equal, isJsonObject, type JsonObject } from "../storage/json.ts";
import { child, type FieldTree, isEmpty, MEMBER } from "./field-tree.ts";

/** The set of all fields of a value. */
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

export interface FieldComparison {
  /** New fields and fields with a different value. */
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

export function compareFields(before: JsonObject, after: JsonObject, schema: Schema | undefined): FieldComparison {
  if (before === after) return NOTHING;
  const [changed, removed] = compareAt(before, after, schema);
  return { changed: changed ?? {}, removed: removed ?? {} };
}

/** Merges `config` into `live` by the rules of server-side apply. */
export function mergeApplied(live: unknown, config: unknown, schema: Schema | undefined): unknown {
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
export function withoutUnownedFields(
  value: unknown,
  drop: FieldTree,
  keep: FieldTree,
  schema: Schema | undefined,
): unknown {
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

/** Removes the branch of a field from the tree. */
export const withoutBranch = (tree: FieldTree, ...path: readonly string[]): FieldTree => {
  const [first, ...rest] = path;
  if (first === undefined) return {};
  const below = child(tree, first);
  if (below === undefined) return tree;
  const inner = withoutBranch(below, ...rest);
  const { [first]: _, ...others } = tree;
  return isEmpty(inner) ? others : { ...others, [first]: inner };
};

export const branch = (tree: FieldTree, element: string): FieldTree => {
  const below = child(tree, element);
  return below === undefined ? {} : { [element]: below };
};
