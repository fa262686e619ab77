import type { ApiResponse } from "../../kube/index.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import type { JsonObject } from "../storage/json.ts";
import type { StoredObject } from "../storage/kube-object.ts";
import type { Server } from "../storage/store.ts";
import { partsReply, streamReply, textResponse } from "./reply.ts";
import { listText, objectText, type ResponseFormat, tableText } from "./response-format.ts";
import { selectorOf } from "./selectors.ts";
import { badRequest, expired, StatusError } from "./status.ts";
import { WatchStream, type WatchView } from "./watch-stream.ts";

export interface RequestedObjects {
  readonly resource: ServedResource;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
}

/** Responds with one object in the requested format. */
export function objectReply(
  server: Server,
  resource: ServedResource,
  stored: StoredObject,
  form: ResponseFormat,
  status = 200,
): ApiResponse {
  if (!form.table) return textResponse(status, `${objectText(resource, stored)}\n`);
  const listMetadata = { resourceVersion: stored.object.metadata.resourceVersion };
  const options = { ...form, listMetadata, withColumns: true };
  return textResponse(status, tableText(resource, [stored], server.clock.now(), options));
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`${name}: Invalid value: ${JSON.stringify(text)}: must be a whole number`);
  return Number(text);
}

/** The objects that currently match the request's selectors, in key order. */
export function selected(server: Server, { resource, namespace, query }: RequestedObjects): StoredObject[] {
  const matches = selectorOf(resource, query);
  const all = server.store.collection(resource.storedAs).list(namespace);
  return matches === undefined ? all : all.filter(({ object }) => matches(object));
}

/** Where the next page begins, and the resourceVersion of the first one. */
interface Position {
  readonly after: string;
  readonly version: number;
}

function positionIn(query: URLSearchParams): Position | undefined {
  const token = query.get("continue") ?? "";
  if (token === "") return undefined;
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString()) as Position;
  } catch {
    throw badRequest("continue key is not valid: it was not issued by this server");
  }
}

/**
 * A list or a page of one. Pages show the state at their own time, while Kubernetes' pages all show that of the first. All have
 * the resourceVersion of the first page, so that a watch from there sends what has changed since.
 */
export function list(server: Server, selection: RequestedObjects, form: ResponseFormat): ApiResponse {
  const { resource, query } = selection;
  const position = positionIn(query);
  const version = position?.version ?? server.store.version;
  // Changes that were dropped could not be watched after the last page.
  if (position !== undefined) server.store.collection(resource.storedAs).history.since(version);
  const all = selected(server, selection);
  const left = position === undefined ? all : all.filter(({ key }) => key > position.after);
  const items = left.slice(0, wholeNumber(query, "limit") || left.length);
  const next: Position = { after: items.at(-1)?.key ?? "", version };
  const metadata = {
    resourceVersion: String(version),
    ...(items.length < left.length && { continue: Buffer.from(JSON.stringify(next)).toString("base64url") }),
  };
  if (!form.table) return partsReply(200, listText(resource, items, metadata));
  const options = { ...form, listMetadata: metadata, withColumns: true };
  return textResponse(200, tableText(resource, items, server.clock.now(), options));
}

/** Starts a watch at a resourceVersion; without one (or with 0) it starts with the current state. */
export function watch(server: Server, selection: RequestedObjects, form: ResponseFormat) {
  const { resource, namespace, query } = selection;
  const collection = server.store.collection(resource.storedAs);
  const version = wholeNumber(query, "resourceVersion") ?? 0;
  const initial = query.get("sendInitialEvents") === "true";
  const view = viewOf(server, selection, form);
  const seconds = wholeNumber(query, "timeoutSeconds");
  const stream = new WatchStream(collection, view, server.clock, () => server.store.version, seconds);
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

function viewOf(server: Server, { resource, namespace, query }: RequestedObjects, form: ResponseFormat): WatchView {
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
    bookmark: (version, initialEventsEnd): JsonObject => ({
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
