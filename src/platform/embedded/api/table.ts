import { ageText } from "../../../core/report/index.ts";
import { type Instant, milliseconds } from "../../../core/units/index.ts";
import type { Column } from "../kinds/served-resource.ts";
import { at, type JsonObject, stringAt } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";

export const ageOf = (text: unknown, now: Instant): string =>
  typeof text === "string" ? ageText(milliseconds(now - Date.parse(text))) : "<unknown>";

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
