import { isJsonObject } from "../storage/json.ts";

/** RFC 7386: null takes a field away, objects merge, everything else replaces. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result = new Map(Object.entries(isJsonObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatched(result.get(key), value));
  }
  return Object.fromEntries(result);
}
