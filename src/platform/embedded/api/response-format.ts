import type { Instant } from "../../../core/units/index.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import type { JsonObject } from "../storage/json.ts";
import type { StoredObject } from "../storage/kube-object.ts";
import { tableOf } from "./table.ts";

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
