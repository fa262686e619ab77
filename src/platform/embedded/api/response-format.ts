import { ageText } from "../../../core/report/index.ts";
import { type Instant, milliseconds } from "../../../core/units/index.ts";
import { type Column, type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import { at, type JsonObject, stringAt } from "../storage/json.ts";
import type { ApiObject, StoredObject } from "../storage/kube-object.ts";

/** The representation that a client requested. */
export interface ResponseFormat {
  readonly table: boolean;
  readonly includeObject: string;
}

/** The first supported format in the Accept header. kubectl requests a Table and also accepts plain JSON. */
export function responseFormatOf(accept: string | undefined, query: URLSearchParams): ResponseFormat {
  const includeObject = query.get("includeObject") ?? "Metadata";
  for (const type of (accept ?? "").split(",")) {
    const parameters = type.split(";").map((part) => part.trim());
    if (parameters.includes("as=Table")) return { table: parameters.includes("v=v1"), includeObject };
    if (parameters.length === 1 && parameters[0] === "application/json") break;
  }
  return { table: false, includeObject };
}

const shownObject = ({ view }: ServedResource, { object }: StoredObject) => view?.represent(object) ?? object;

/** An object as JSON text; uses the cached JSON unless the resource is a view. */
export const objectText = (resource: ServedResource, stored: StoredObject): string =>
  resource.view === undefined ? stored.json() : JSON.stringify(resource.view.represent(stored.object));

/** A list item. Like Kubernetes, omits kind and apiVersion in lists of built-in kinds. */
function itemText(resource: ServedResource, stored: StoredObject): string {
  const text = objectText(resource, stored);
  if (resource.custom) return text;
  const prefix = `{"kind":${JSON.stringify(resource.kind)},"apiVersion":${JSON.stringify(servedApiVersionOf(resource))},`;
  return text.startsWith(prefix) ? `{${text.slice(prefix.length)}` : text;
}

interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
}

const ITEMS_PER_PART = 500;

/** Generates a list's text in chunks, so that a large list never becomes one string. */
export function* listText(
  resource: ServedResource,
  items: readonly StoredObject[],
  metadata: ListMetadata,
): Generator<string> {
  const head = { kind: resource.listKind, apiVersion: servedApiVersionOf(resource), metadata };
  yield `${JSON.stringify(head).slice(0, -1)},"items":[`;
  for (let start = 0; start < items.length; start += ITEMS_PER_PART) {
    const part = items.slice(start, start + ITEMS_PER_PART).map((item) => itemText(resource, item));
    yield (start === 0 ? "" : ",") + part.join(",");
  }
  yield "]}\n";
}

export function tableText(
  resource: ServedResource,
  items: readonly StoredObject[],
  now: Instant,
  options: { readonly listMetadata: JsonObject; readonly includeObject: string; readonly withColumns: boolean },
): string {
  const objects = items.map((item) => shownObject(resource, item));
  return JSON.stringify(tableOf(objects, resource.columns, now, options));
}

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
function tableOf(
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
