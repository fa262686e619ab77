import { MAX_BODY_BYTES } from "../api/request.ts";
import { badRequest, StatusError } from "../api/status.ts";
import { equal, isDeeperThan, isJsonObject, MAX_DEPTH } from "../storage/json.ts";

/** Kubernetes' limit. */
const MAX_OPERATIONS = 10_000;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: unknown;
  readonly value?: unknown;
}

const isOperation = (value: unknown): value is Operation =>
  isJsonObject(value) && typeof value.op === "string" && typeof value.path === "string";

/** Kubernetes answers 422 Invalid, not 400, when a patch does not apply to the object. */
const unfit = (message: string) =>
  new StatusError(422, "Invalid", `the server rejected our request due to an error in our request: ${message}`);

/** Applies an RFC 6902 patch atomically to a copy. */
export function jsonPatched(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch) || !patch.every(isOperation)) {
    throw badRequest("a JSON patch must be a list of operations, each with op and path");
  }
  if (patch.length > MAX_OPERATIONS) {
    const message = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`;
    throw new StatusError(413, "RequestEntityTooLarge", `Request entity too large: ${message}`);
  }
  const result = operated(target, patch);
  if (isDeeperThan(MAX_DEPTH, result)) throw unfit(`the result is more than ${MAX_DEPTH} levels deep`);
  return result;
}

function operated(target: unknown, patch: readonly Operation[]): unknown {
  const copied = { size: 0 };
  try {
    return patch.reduce((here, operation) => operate(here, operation, copied), target);
  } catch (error) {
    // An intermediate result can exceed the recursion limit, even if the final one would not.
    throw error instanceof RangeError ? unfit(error.message) : error;
  }
}

/** Bounds the total size of copies, as Kubernetes does: copies of copies double with every operation. */
function counted(value: unknown, copied: { size: number }): unknown {
  copied.size += (JSON.stringify(value) ?? "").length;
  if (copied.size > MAX_BODY_BYTES) throw unfit(`the patch copies more than ${MAX_BODY_BYTES} bytes`);
  return value;
}

function operate(target: unknown, operation: Operation, copied: { size: number }): unknown {
  const path = pointer(operation.path);
  switch (operation.op) {
    case "add":
      return set(target, path, operation.value, true);
    case "replace":
      lookup(target, path);
      return path.length === 0 ? operation.value : set(target, path, operation.value, false);
    case "remove":
      return removed(target, path);
    case "test":
      if (!equal(lookup(target, path), operation.value)) throw unfit(`testing path ${operation.path} value failed`);
      return target;
    case "move": {
      const from = pointer(operation.from);
      return set(removed(target, from), path, lookup(target, from), true);
    }
    case "copy":
      return set(target, path, counted(lookup(target, pointer(operation.from)), copied), true);
    default:
      throw badRequest(`Unexpected kind: ${operation.op}`);
  }
}

function pointer(text: unknown): string[] {
  if (text === "") return [];
  if (typeof text !== "string" || !text.startsWith("/"))
    throw badRequest(`${JSON.stringify(text)} is not a JSON pointer`);
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The list index of a path segment. With `end`, `-` and the position after the last item are valid. */
function indexIn(list: readonly unknown[], part: string, end: boolean): number {
  const index = part === "-" && end ? list.length : /^(0|[1-9]\d*)$/.test(part) ? Number(part) : Number.NaN;
  if (!(index < list.length + (end ? 1 : 0))) throw unfit(`unable to access invalid index: ${part}`);
  return index;
}

function lookup(target: unknown, path: readonly string[]): unknown {
  return path.reduce((here, part) => {
    if (Array.isArray(here)) return here[indexIn(here, part, false)] as unknown;
    if (isJsonObject(here) && Object.hasOwn(here, part)) return here[part];
    throw unfit(`path /${path.join("/")} does not exist`);
  }, target);
}

function set(target: unknown, path: readonly string[], value: unknown, insert: boolean): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (Array.isArray(target)) {
    const list: unknown[] = target;
    const index = indexIn(list, part, insert && rest.length === 0);
    if (rest.length === 0) return list.toSpliced(index, insert ? 0 : 1, value);
    return list.with(index, set(list[index], rest, value, insert));
  }
  if (!isJsonObject(target) || (rest.length > 0 && !Object.hasOwn(target, part))) {
    throw unfit(`path /${path.join("/")} does not exist`);
  }
  return { ...target, [part]: set(target[part], rest, value, insert) };
}

function removed(target: unknown, path: readonly string[]): unknown {
  lookup(target, path);
  const [part, ...rest] = path;
  if (part === undefined) return null;
  if (Array.isArray(target)) {
    const list: unknown[] = target;
    const index = indexIn(list, part, false);
    return rest.length === 0 ? list.toSpliced(index, 1) : list.with(index, removed(list[index], rest));
  }
  if (!isJsonObject(target)) return target;
  if (rest.length > 0) return { ...target, [part]: removed(target[part], rest) };
  return Object.fromEntries(Object.entries(target).filter(([key]) => key !== part));
}

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
