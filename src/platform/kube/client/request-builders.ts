import type { Selection } from "./call-types.ts";
import { ApiError, describeCall } from "./errors.ts";
import { isRecord, type KubeObject } from "./object.ts";
import type { ListPage } from "./pages.ts";
import { pathOf, type Resource } from "./resource.ts";
import { apiVersionOf } from "./resources.ts";
import type { ApiRequest } from "./transport.ts";

export const JSON_BODY = "application/json";

export type Query = Readonly<Record<string, string | undefined>>;

export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** The collection path with selectors. */
export function collection(
  resource: Resource,
  { namespace, labelSelector, fieldSelector }: Selection,
  query: Query,
): string {
  const path = pathOf(resource, { ...(namespace !== undefined && { namespace }) });
  return withQuery(path, { labelSelector, fieldSelector, ...query });
}

export const typeOf = (resource: Resource) => ({ apiVersion: apiVersionOf(resource), kind: resource.kind });

export const post = (path: string, body: unknown) =>
  ({ method: "POST", path, headers: { "content-type": JSON_BODY }, body: JSON.stringify(body) }) as const;

export function pageOf<Item extends KubeObject>(
  request: Pick<ApiRequest, "method" | "path">,
  value: unknown,
): ListPage<Item> {
  const metadata = isRecord(value) && isRecord(value.metadata) ? value.metadata : {};
  // Some servers send null for an empty list. A response without items, such as a Status, must not count as an empty list.
  const items = isRecord(value) && "items" in value ? (value.items ?? []) : undefined;
  if (!Array.isArray(items)) throw new ApiError("garbled", `${describeCall(request)}: the response is not a list`);
  const { resourceVersion, continue: next } = metadata;
  return {
    items: items as Item[],
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    ...(typeof next === "string" && next !== "" && { next }),
  };
}
