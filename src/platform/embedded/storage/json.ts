// Helpers for JSON values. They never mutate a value, because readers share stored objects.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const jsonObjectOr = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Deep equality; ignores field order. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/** Sets a field, or removes it when `value` is undefined. */
export function withField(fields: JsonObject, key: string, value: unknown): JsonObject {
  if (value !== undefined) return { ...fields, [key]: value };
  return Object.hasOwn(fields, key) ? without(fields, [key]) : fields;
}

export const without = (fields: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key)));

/** The value at a path of field names and list positions, or undefined. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as JsonObject)[key];
  }
  return here;
}

export const stringAt = (value: unknown, ...path: readonly string[]): string => {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
};

export const listAt = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};
