import type { ApiResponse } from "../../kube/index.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import { storageKeyOf } from "../storage/collection.ts";
import type { JsonObject } from "../storage/json.ts";
import type { Server } from "../storage/server.ts";
import { Snapshots } from "../storage/snapshots.ts";
import type { StoredObject } from "../storage/stored-object.ts";
import { partsReply, streamReply, textResponse } from "./reply.ts";
import { type ListMetadata, listText, objectText, type ResponseFormat, tableText } from "./response-format.ts";
import { indexedTerm, selectorOf } from "./selectors.ts";
import { badRequest, expired, notFound, StatusError } from "./status.ts";
import { WatchStream, type WatchView } from "./watch-stream.ts";

export function get(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  name: string,
): StoredObject {
  const stored = server.store.collection(resource.storedAs).get(storageKeyOf(namespace, name));
  if (stored === undefined) throw notFound(resource, name);
  return stored;
}

/** Responds with one object in the requested format. */
export function objectReply(
  server: Server,
  resource: ServedResource,
  stored: StoredObject,
  form: ResponseFormat,
  status = 200,
  headers = {},
): ApiResponse {
  if (!form.table) return textResponse(status, `${objectText(resource, stored)}\n`, headers);
  const listMetadata = { resourceVersion: stored.object.metadata.resourceVersion };
  return textResponse(
    status,
    tableText(resource, [stored], server.clock.now(), { ...form, listMetadata, withColumns: true }),
    headers,
  );
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`${name}: Invalid value: ${JSON.stringify(text)}: must be a whole number`);
  return Number(text);
}

/** The objects that currently match the request's selectors. */
export function selected(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  query: URLSearchParams,
): StoredObject[] {
  const matches = selectorOf(resource, query);
  const collection = server.store.collection(resource.storedAs);
  const narrow = indexedTerm(resource, query);
  const some =
    narrow === undefined
      ? collection.list(namespace)
      : collection
          .having(narrow.read, narrow.value)
          .filter(({ object }) => namespace === undefined || object.metadata.namespace === namespace);
  return matches === undefined ? some : some.filter(({ object }) => matches(object));
}

interface Page {
  readonly items: readonly StoredObject[];
  readonly metadata: ListMetadata;
}

/** Identifies a list: a continue token is valid only for the list that returned it. */
const listOf = ({ group, version, plural }: ServedResource, namespace: string | undefined, query: URLSearchParams) =>
  JSON.stringify([
    group,
    version,
    plural,
    namespace,
    query.get("labelSelector") || "",
    query.get("fieldSelector") || "",
  ]);

function pageOf(server: Server, resource: ServedResource, namespace: string | undefined, query: URLSearchParams): Page {
  const { snapshots, version } = server.store;
  const limit = wholeNumber(query, "limit") ?? 0;
  const token = query.get("continue") ?? "";
  const of = listOf(resource, namespace, query);
  const from =
    token === ""
      ? { items: selected(server, resource, namespace, query), version, start: 0, snapshot: undefined }
      : snapshots.resume(token, of);
  const end = limit === 0 ? from.items.length : from.start + limit;
  const items = from.items.slice(from.start, end);
  const remaining = from.items.length - end;
  const resourceVersion = String(from.version);
  if (remaining <= 0) return { items, metadata: { resourceVersion } };
  const snapshot = from.snapshot ?? snapshots.keep(server.clock, { of, items: from.items, version: from.version });
  // Like Kubernetes, omits remainingItemCount when the request has a selector.
  const selective = query.has("labelSelector") || query.has("fieldSelector");
  const rest = selective ? {} : { remainingItemCount: remaining };
  return { items, metadata: { resourceVersion, continue: Snapshots.tokenOf({ snapshot, start: end }), ...rest } };
}

export function list(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  query: URLSearchParams,
  form: ResponseFormat,
): ApiResponse {
  const asked = wholeNumber(query, "resourceVersion") ?? 0;
  if (asked > server.store.version) {
    const message = `Too large resource version: ${asked}, current: ${server.store.version}`;
    throw new StatusError(504, "Timeout", message, { retryAfterSeconds: 1 });
  }
  if (query.get("resourceVersionMatch") === "Exact" && asked !== server.store.version && !query.has("continue")) {
    throw expired(`The resourceVersion for the provided list is too old: ${asked}`);
  }
  if (asked > 0 && (query.get("continue") ?? "") !== "") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const { items, metadata } = pageOf(server, resource, namespace, query);
  if (!form.table) return partsReply(200, listText(resource, items, metadata));
  const options = { ...form, listMetadata: metadata as unknown as JsonObject, withColumns: true };
  return textResponse(200, tableText(resource, items, server.clock.now(), options));
}

/** Starts a watch at a resourceVersion; without one (or with 0) it starts with the current state. */
export function watch(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  query: URLSearchParams,
  form: ResponseFormat,
): { reply: ApiResponse; stream: WatchStream } {
  const collection = server.store.collection(resource.storedAs);
  const version = wholeNumber(query, "resourceVersion") ?? 0;
  const initial = query.get("sendInitialEvents") === "true";
  const view = viewOf(server, resource, namespace, query, form);
  const stream = new WatchStream(
    collection,
    view,
    server.clock,
    () => server.store.version,
    wholeNumber(query, "timeoutSeconds"),
  );
  try {
    if (version === 0 || initial) {
      const state = collection.list(namespace).filter(({ object }) => view.matches?.(object) !== false);
      stream.begin(state, initial);
    } else {
      // A resourceVersion above the current one comes from an earlier process, whose state is lost.
      if (version > server.store.version)
        throw expired(`too old resource version: ${version} was not issued by this server`);
      stream.replay(collection.history.since(version));
    }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    stream.fail(error.status);
  }
  return { reply: streamReply(stream), stream };
}

function viewOf(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  query: URLSearchParams,
  form: ResponseFormat,
): WatchView {
  const selector = selectorOf(resource, query);
  const here =
    namespace === undefined ? undefined : ({ metadata }: StoredObject["object"]) => metadata.namespace === namespace;
  const matches =
    here && selector ? (object: StoredObject["object"]) => here(object) && selector(object) : (here ?? selector);
  let withColumns = true;
  const row = (stored: StoredObject): string => {
    const listMetadata = { resourceVersion: stored.object.metadata.resourceVersion };
    const text = tableText(resource, [stored], server.clock.now(), { ...form, listMetadata, withColumns });
    withColumns = false;
    return text;
  };
  return {
    matches,
    format: form.table ? row : (stored) => objectText(resource, stored),
    bookmarks: query.get("allowWatchBookmarks") === "true",
    bookmark: (version, initialEventsEnd) => ({
      kind: resource.kind,
      apiVersion: servedApiVersionOf(resource),
      metadata: {
        resourceVersion: String(version),
        creationTimestamp: null,
        ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
      },
    }),
  };
}
