import * as z from "zod";
import { fail, ok, type Result } from "../units/index.ts";
import { listBounds, readFallbacks, stringMap } from "./fields.ts";
import type { ResourceKind } from "./kinds.ts";
import { objectMetadata } from "./metadata.ts";
import { apiGroup, apiVersion } from "./names.ts";
import { isNotNullish, isPlainObject, type PlainObject } from "./object-shape.ts";
import { rulesOf } from "./rules.ts";

/**
 * Reads an object from outside and tolerates errors: unknown fields are retained, null means absent, and an invalid field
 * affects only itself. A valid object is returned as it is, not copied. An object of another kind or without a usable name
 * is rejected with the reason.
 */
export function readObject<Object>(kind: ResourceKind<Object>, value: unknown): Result<Object, string> {
  const renamed = withoutAliases(kind, value);
  if (isValid(kind, renamed)) return ok(renamed);
  return salvage(kind, renamed);
}

/** Reads an object of a watch as one of our kinds; throws if it is not one. The reflector reports the error. */
export const readAs =
  <Value>(kind: ResourceKind<Value>) =>
  (object: { readonly metadata: { readonly name: string } }): Value => {
    const reading = readObject(kind, object);
    if (reading.ok) return reading.value;
    throw new Error(`${kind.kind} ${object.metadata.name}: ${reading.error}`);
  };

function isValid<Object>(kind: ResourceKind<Object>, value: unknown): value is Object {
  return kind.schema.safeParse(value).success;
}

function salvage<Object>(kind: ResourceKind<Object>, value: unknown): Result<Object, string> {
  if (!isPlainObject(value)) return fail(`it is not a ${kind.kind}`);
  const { metadata } = value;
  // Items of a list carry neither apiVersion nor kind. Other versions of the API group contain the same objects.
  if (isNotNullish(value.kind) && value.kind !== kind.kind) return fail(`kind is not ${kind.kind}`);
  if (isNotNullish(value.apiVersion) && !isOurs(value.apiVersion)) return fail(`apiVersion is not ${apiVersion}`);
  if (!isPlainObject(metadata)) return fail("metadata is not an object");
  const name = objectMetadata.shape.name.safeParse(metadata.name);
  if (!name.success) return fail("metadata.name is not the name of an object");
  const usable = usablePart(kind.schema, withUsableSpec(kind, value, name.data)) as Object | undefined;
  return usable === undefined ? fail("a required field is invalid") : ok(usable);
}

const isOurs = (version: unknown) => typeof version === "string" && version.startsWith(`${apiGroup}/`);

/** An object without a spec, or with another node's name in its spec, still belongs to the node that its name gives. */
function withUsableSpec<Object>(kind: ResourceKind<Object>, value: PlainObject, name: string): PlainObject {
  const spec = isPlainObject(value.spec) ? value.spec : {};
  return { ...value, spec: kind.perNode ? { ...spec, nodeName: name } : spec };
}

/**
 * The usable part of a value. It never descends deeper than the schema. A part that violates its type, bound or enum is left
 * out. A required part is replaced by its fallback, or its parent is left out too.
 */
function usablePart(schema: z.ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodOptional) return usablePart(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodObject) return isPlainObject(value) ? usableObject(schema, value) : undefined;
  if (schema instanceof z.ZodArray) return Array.isArray(value) ? usableList(schema, value) : undefined;
  // Input may contain thousands of bad labels, so the check of each one has to be cheap.
  if (schema === stringMap && isPlainObject(value))
    return Object.fromEntries(Object.entries(value).filter(([, item]) => typeof item === "string"));
  return schema.safeParse(value).success ? value : undefined;
}

function usableObject(schema: z.ZodObject, value: PlainObject): PlainObject | undefined {
  const usable: Record<string, unknown> = { ...value };
  for (const [key, child] of Object.entries(schema.shape) as [string, z.ZodType][]) {
    const part = isNotNullish(value[key]) ? usablePart(child, value[key]) : undefined;
    if (part === undefined && child instanceof z.ZodOptional) {
      delete usable[key];
      continue;
    }
    usable[key] = part ?? structuredClone(readFallbacks.get(child)?.value);
    if (usable[key] === undefined) return undefined;
  }
  const isDropped = rulesOf(schema).some(({ holds, onRead }) => onRead === "drop" && !holds(usable));
  return isDropped ? undefined : usable;
}

/** The sender chooses the length of a list: beyond its bound at most this many items are looked at. */
const MAX_BAD_ITEMS = 50;

/** Retains the usable items: the first of each key, and at most as many as the list may hold. */
function usableList(schema: z.ZodArray, value: readonly unknown[]): readonly unknown[] {
  const { longest = Infinity, distinct } = listBounds.get(schema) ?? {};
  const usable = new Map<unknown, unknown>();
  for (const [index, item] of value.slice(0, longest + MAX_BAD_ITEMS).entries()) {
    if (usable.size === longest) break;
    const read = usablePart(schema.element as z.ZodType, item);
    const key = distinct === undefined ? index : distinct.keyOf(read);
    if (read !== undefined && !usable.has(key)) usable.set(key, read);
  }
  return Array.from(usable.values());
}

function withoutAliases<Object>(kind: ResourceKind<Object>, value: unknown): unknown {
  let renamed = value;
  for (const { parent, alias, field } of kind.aliases ?? []) renamed = rename(renamed, parent, alias, field);
  return renamed;
}

function rename(value: unknown, parent: readonly string[], alias: string, field: string): unknown {
  if (!isPlainObject(value)) return value;
  const [key, ...deeper] = parent;
  if (key !== undefined) {
    const child = rename(value[key], deeper, alias, field);
    return child === value[key] ? value : { ...value, [key]: child };
  }
  if (!Object.hasOwn(value, alias) || (value[field] ?? undefined) !== undefined) return value;
  const { [alias]: aliased, ...others } = value;
  return { ...others, [field]: aliased };
}
