import { fieldSchema, type Schema } from "../kinds/builtin-schemas.ts";
import { equal, isJsonObject, type JsonObject } from "../storage/json.ts";

/** Applies an RFC 7386 merge patch: null removes a field, objects merge, other values replace. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result = new Map(Object.entries(isJsonObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatched(result.get(key), value));
  }
  return Object.fromEntries(result);
}

const DELETE_ITEMS = "$deleteFromPrimitiveList/";

/**
 * Strategic merge patch, as kubectl sends it for built-in kinds (label, annotate, cordon, apply). Lists are merged by the first
 * key of their schema, or as sets; any other list is replaced.
 */
export function strategicallyPatched(target: unknown, patch: unknown, schema: Schema | undefined): unknown {
  if (!isJsonObject(patch)) return patch;
  const { $patch: directive, $retainKeys: retained, ...changes } = patch as Record<string, unknown>;
  if (directive === "replace") return changes;
  const retain = Array.isArray(retained) ? retained : undefined;
  const start = Object.entries(isJsonObject(target) && directive !== "delete" ? target : {});
  const result = new Map(retain === undefined ? start : start.filter(([key]) => retain.includes(key)));
  for (const [key, value] of Object.entries(changes)) {
    if (key.startsWith(DELETE_ITEMS)) {
      const name = key.slice(DELETE_ITEMS.length);
      const gone = Array.isArray(value) ? value : [];
      const list = result.get(name);
      if (Array.isArray(list))
        result.set(
          name,
          list.filter((item) => !gone.some((one) => equal(one, item))),
        );
    } else if (!key.startsWith("$")) {
      // Ignores `$setElementOrder`: the order of merged lists has no meaning here.
      if (value === null) result.delete(key);
      else {
        const patched = Array.isArray(value) ? listPatched : strategicallyPatched;
        result.set(key, patched(result.get(key), value as readonly unknown[], fieldSchema(schema, key)));
      }
    }
  }
  return Object.fromEntries(result);
}

function listPatched(target: unknown, patch: readonly unknown[], schema: Schema | undefined): unknown {
  const before: readonly unknown[] = Array.isArray(target) ? target : [];
  if (schema?.["x-kubernetes-list-type"] === "set")
    return [...before, ...patch.filter((item) => !before.some((one) => equal(one, item)))];
  const [mergeKey] = schema?.["x-kubernetes-list-map-keys"] ?? [];
  const replaces = patch.some((item) => isJsonObject(item) && item.$patch === "replace");
  if (mergeKey === undefined || replaces)
    return patch.filter((item) => !isJsonObject(item) || item.$patch !== "replace");
  const result = [...before];
  for (const item of patch.filter(isJsonObject)) {
    const at = result.findIndex((one) => isJsonObject(one) && equal(one[mergeKey], item[mergeKey]));
    if (item.$patch === "delete") result.splice(at, at === -1 ? 0 : 1);
    else
      result.splice(
        at === -1 ? result.length : at,
        1,
        strategicallyPatched(result[at], item, schema?.items) as JsonObject,
      );
  }
  return result;
}
