import { isJsonObject, type JsonObject } from "../storage/json.ts";

/**
 * A structural schema: either the full schema of a CRD, or a partial one of a built-in kind that describes only
 * how its lists and maps merge. Names the fields that are read here; zod reads the others.
 */
export interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** How a value is merged and owned: atomically, field by field, or item by item. */
export type Structure = "leaf" | "fields" | "set" | "map";

export function structureOf(value: unknown, schema: Schema | undefined): Structure {
  if (Array.isArray(value)) {
    const type = schema?.["x-kubernetes-list-type"];
    return type === "map" || type === "set" ? type : "leaf";
  }
  return isJsonObject(value) && schema?.["x-kubernetes-map-type"] !== "atomic" ? "fields" : "leaf";
}

export function fieldSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** The fieldsV1 key of an item in a list of type map. */
function itemElement(item: unknown, schema: Schema | undefined): string {
  const keys = [...(schema?.["x-kubernetes-list-map-keys"] ?? [])].toSorted();
  const fields: JsonObject = isJsonObject(item) ? item : {};
  const pairs = keys
    .map((key) => [key, fields[key] ?? fieldSchema(schema?.items, key)?.default])
    .filter(([, value]) => value !== undefined);
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

const setElement = (item: unknown): string => `v:${JSON.stringify(item)}`;

/** Items of a map or set list by fieldsV1 key; the first of duplicates wins. */
export function itemsByKey(
  list: readonly unknown[],
  schema: Schema | undefined,
  structure: Structure,
): Map<string, unknown> {
  const items = new Map<string, unknown>();
  for (const item of list) {
    const element = structure === "map" ? itemElement(item, schema) : setElement(item);
    if (!items.has(element)) items.set(element, item);
  }
  return items;
}
