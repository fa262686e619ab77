import { fieldSchema, type Schema } from "../kinds/schema.ts";
import { isJsonObject } from "../storage/json.ts";

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
