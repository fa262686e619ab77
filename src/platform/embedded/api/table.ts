import type { Instant } from "../../../core/units/index.ts";
import type { Column } from "../kinds/served-resource.ts";
import { at, type JsonObject, stringAt } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const YEAR = 365 * DAY;

const units: readonly (readonly [number, string])[] = [
  [YEAR, "y"],
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "m"],
  [SECOND, "s"],
];

/** A duration below `below` is printed in `unit`, and below `fine` also with the next smaller unit. */
const spans: readonly { readonly below: number; readonly unit: number; readonly fine: number }[] = [
  { below: 2 * MINUTE, unit: SECOND, fine: 0 },
  { below: 3 * HOUR, unit: MINUTE, fine: 10 * MINUTE },
  { below: 2 * DAY, unit: HOUR, fine: 8 * HOUR },
  { below: 2 * YEAR, unit: DAY, fine: 8 * DAY },
  { below: Number.POSITIVE_INFINITY, unit: YEAR, fine: 8 * YEAR },
];

/** Formats a duration as kubectl does: 45s, 3m20s, 5h, 2d4h, 400d. */
export function humanDuration(seconds: number): string {
  if (seconds < 0) return seconds < -1 ? "<invalid>" : "0s";
  const whole = Math.floor(seconds);
  const span = spans.find(({ below }) => whole < below);
  const at = units.findIndex(([size]) => size === span?.unit);
  const [size = 1, name = "s"] = units[at] ?? [];
  const count = Math.floor(whole / size);
  const [smaller = 1, smallerName = ""] = units[at + 1] ?? [];
  const rest = Math.floor((whole % size) / smaller);
  return whole < (span?.fine ?? 0) && rest > 0 ? `${count}${name}${rest}${smallerName}` : `${count}${name}`;
}

export function ageOf(text: unknown, now: Instant): string {
  const time = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? "<unknown>" : humanDuration((now - time) / 1000);
}

export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  cell: ({ metadata }) => metadata.name,
};

export const ageColumn: Column = {
  name: "Age",
  type: "string",
  cell: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
};

/** Evaluates the JSONPath of a CRD printer column: field names, `[n]` and `[?(@.key=="value")]`. */
export function jsonPathValue(object: JsonObject, path: string): unknown {
  const steps = path.matchAll(/\.([\w-]+)|\['([^']+)'\]|\[(\d+)\]|\[\?\(@\.([\w-]+)\s*==\s*["']([^"']*)["']\)\]/g);
  let here: unknown = object;
  for (const [, name, quoted, index, key, value] of steps) {
    const list: readonly unknown[] = Array.isArray(here) ? here : [];
    if (index !== undefined) here = list[Number(index)];
    else if (key !== undefined) here = list.find((item) => stringAt(item, key) === value);
    else here = at(here, name ?? quoted ?? "");
  }
  return here;
}

/** Builds a Table for kubectl. A watch sends one row at a time, with the columns only in the first. */
export function tableOf(
  items: readonly ApiObject[],
  columns: readonly Column[],
  now: Instant,
  options: { readonly listMetadata: JsonObject; readonly includeObject: string; readonly withColumns: boolean },
): JsonObject {
  const rowObject = (object: ApiObject): JsonObject =>
    options.includeObject === "Object"
      ? object
      : { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.listMetadata,
    columnDefinitions: options.withColumns
      ? columns.map(({ name, type, format = "", description = "", priority = 0 }) => ({
          name,
          type,
          format,
          description,
          priority,
        }))
      : null,
    rows: items.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, now) ?? null),
      ...(options.includeObject === "None" ? {} : { object: rowObject(object) }),
    })),
  };
}
