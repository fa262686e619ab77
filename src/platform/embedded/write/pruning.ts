import { fieldSchema, type Schema } from "../kinds/schema.ts";
import { isJsonObject, type JsonObject } from "../storage/json.ts";

const keepsUnknown = (schema: Schema): boolean =>
  schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;

/** Removes the fields that the schema does not define, and adds their paths to `unknown`. */
export function pruned(value: unknown, schema: Schema, unknown: string[], path = ""): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item, index) => pruned(item, items, unknown, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return value;
  // Other code validates objects whose schema defines no fields, such as metadata.
  if (schema.properties === undefined && schema.additionalProperties === undefined) {
    if (keepsUnknown(schema) || schema.type !== "object") return value;
  }
  const kept: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const below = path === "" ? key : `${path}.${key}`;
    const inner = fieldSchema(schema, key);
    if (inner !== undefined) kept.push([key, pruned(value[key], inner, unknown, below)]);
    else if (keepsUnknown(schema)) kept.push([key, value[key]]);
    else unknown.push(below);
  }
  return Object.fromEntries(kept);
}

/** Fills in the schema's defaults for missing fields, and for null in non-nullable fields. */
export function defaulted(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item) => defaulted(item, items));
  }
  if (!isJsonObject(value)) return value;
  let result: JsonObject = value;
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    const missing = given === undefined || (given === null && inner.nullable !== true);
    const start = missing && inner.default !== undefined ? inner.default : given;
    if (start === undefined) continue;
    const full = defaulted(start, inner);
    if (full !== given) result = { ...result, [key]: full };
  }
  const { additionalProperties: more } = schema;
  if (typeof more !== "object") return result;
  const names = Object.keys(schema.properties ?? {});
  return Object.fromEntries(
    Object.entries(result).map(([key, inner]) => [key, names.includes(key) ? inner : defaulted(inner, more)]),
  );
}
