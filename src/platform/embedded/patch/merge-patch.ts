import { isJsonObject } from "../storage/json.ts";

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
