import type { ApiRequest, ApiResponse } from "../../kube/index.ts";
import type { Registry } from "../kinds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { apply, isApply, patch, patcherOf } from "../patch/patch.ts";
import type { StoredObject } from "../storage/kube-object.ts";
import { type Server, storageKeyOf } from "../storage/store.ts";
import type { WriteResult } from "../write/admission.ts";
import { bind } from "../write/binding.ts";
import { create } from "../write/create.ts";
import { evict, remove } from "../write/deletion.ts";
import { update } from "../write/update.ts";
import { discoveryReply, isScalable, resized, scaleOf } from "./discovery.ts";
import { openapiReply } from "./openapi.ts";
import { list, objectReply, selected, watch } from "./reads.ts";
import { errorReply, jsonReply, partsReply } from "./reply.ts";
import {
  deleteOptions,
  expectNoDryRun,
  mediaTypeOf,
  objectBody,
  type ParsedRequest,
  parseRequest,
  writeOptionsOf,
} from "./request.ts";
import { listText, type ResponseFormat, responseFormatOf } from "./response-format.ts";
import { badRequest, methodNotAllowed, noSuchPath, notFound, success } from "./status.ts";
import type { WatchStream } from "./watch-stream.ts";

/** Handles API requests from the in-memory transport and from HTTP. */
export class RequestHandler {
  readonly #server: Server;
  readonly #watches = new Set<WatchStream>();

  constructor(server: Server) {
    this.#server = server;
  }

  get watches(): ReadonlySet<WatchStream> {
    return this.#watches;
  }

  handle(request: ApiRequest): ApiResponse {
    try {
      return this.#answer(parseRequest(request), request.signal);
    } catch (error) {
      return errorReply(error);
    }
  }

  #answer(asked: ParsedRequest, signal: AbortSignal): ApiResponse {
    const { registry } = this.#server;
    const segments = segmentsOf(asked.path);
    if (asked.method === "GET") {
      const { all } = registry;
      const known = discoveryReply(segments, all) ?? openapiReply(segments, all);
      if (known !== undefined) return known;
    }
    const route = routeOf(registry, segments);
    if (route === undefined) throw noSuchPath();
    expectNoDryRun(asked);
    const { resource, name, subresource } = route;
    if (name === undefined) return this.#onCollection(route, asked, signal);
    if (subresource === undefined || (subresource === "status" && resource.hasStatus))
      return this.#onObject(route, name, asked);
    if (subresource === "scale" && isScalable(resource)) return this.#scale(route, name, asked);
    if (resource.storedAs !== "/pods" || asked.method !== "POST") throw noSuchPath();
    if (subresource === "binding") bind(this.#server, route.namespace ?? "", name, objectBody(asked));
    else if (subresource === "eviction") evict(this.#server, route.namespace ?? "", name, objectBody(asked));
    else throw noSuchPath();
    return jsonReply(201, DONE);
  }

  #onCollection(route: ApiRoute, asked: ParsedRequest, signal: AbortSignal): ApiResponse {
    const { resource, namespace } = route;
    const selection = { ...route, query: asked.query };
    const form = formatOf(asked);
    switch (asked.method) {
      case "GET": {
        if (!["true", "1"].includes(asked.query.get("watch") ?? "")) return list(this.#server, selection, form);
        const { reply, stream } = watch(this.#server, selection, form);
        this.#keep(stream, signal);
        return reply;
      }
      case "POST": {
        if (resource.namespaced && namespace === undefined) throw methodNotAllowed();
        const options = writeOptionsOf(asked, undefined, false);
        return this.#written(route, asked, create(this.#server, resource, namespace, objectBody(asked), options));
      }
      case "DELETE": {
        const options = deleteOptions(asked);
        const found = selected(this.#server, selection);
        const gone = found.map((stored) => remove(this.#server, resource, stored, options).stored);
        return partsReply(200, listText(resource, gone, { resourceVersion: String(this.#server.store.version) }));
      }
      case "PUT":
      case "PATCH":
      default:
        throw methodNotAllowed();
    }
  }

  #onObject(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    const { resource, subresource } = route;
    switch (asked.method) {
      case "GET":
        return objectReply(this.#server, resource, this.#get(route, name), formatOf(asked));
      case "PUT": {
        const options = writeOptionsOf(asked, subresource, false);
        const written = update(this.#server, resource, this.#get(route, name), objectBody(asked), options);
        return this.#written(route, asked, written);
      }
      case "PATCH":
        return this.#written(route, asked, this.#patched(route, name, asked));
      case "DELETE":
        if (subresource !== undefined) throw methodNotAllowed();
        return this.#remove(route, name, asked);
      case "POST":
      default:
        throw methodNotAllowed();
    }
  }

  #find({ resource, namespace }: ApiRoute, name: string): StoredObject | undefined {
    return this.#server.store.collection(resource.storedAs).get(storageKeyOf(namespace, name));
  }

  #get(route: ApiRoute, name: string): StoredObject {
    const stored = this.#find(route, name);
    if (stored === undefined) throw notFound(route.resource, name);
    return stored;
  }

  #remove(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    const { resource } = route;
    const { stored, gone } = remove(this.#server, resource, this.#get(route, name), deleteOptions(asked));
    // Kubernetes returns the last state of a deleted pod, and a Status for any other object that it removes immediately.
    if (gone && resource.storedAs !== "/pods")
      return jsonReply(200, success(resource, name, stored.object.metadata.uid));
    return objectReply(this.#server, resource, stored, formatOf(asked));
  }

  #patched(route: ApiRoute, name: string, asked: ParsedRequest): WriteResult {
    const { resource, namespace, subresource } = route;
    const mediaType = mediaTypeOf(asked);
    const options = writeOptionsOf(asked, subresource, isApply(mediaType));
    if (!isApply(mediaType)) {
      const patcher = patcherOf(resource, mediaType);
      return patch(this.#server, resource, this.#get(route, name), patcher, objectBody(asked), options);
    }
    const stored = this.#find(route, name);
    if (stored === undefined && subresource !== undefined) throw notFound(resource, name);
    const force = asked.query.get("force") === "true";
    return apply(this.#server, resource, { namespace, name, stored, force }, objectBody(asked), options);
  }

  #written({ resource }: ApiRoute, asked: ParsedRequest, { stored, created }: WriteResult): ApiResponse {
    return objectReply(this.#server, resource, stored, formatOf(asked), created ? 201 : 200);
  }

  #scale(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    const stored = this.#get(route, name);
    if (asked.method === "GET") return jsonReply(200, scaleOf(stored.object));
    if (asked.method !== "PUT" && asked.method !== "PATCH") throw methodNotAllowed();
    const options = writeOptionsOf(asked, undefined, false);
    const scaled = resized(stored.object, objectBody(asked));
    return jsonReply(200, scaleOf(update(this.#server, route.resource, stored, scaled, options).stored.object));
  }

  #keep(stream: WatchStream, signal: AbortSignal): void {
    const stop = () => stream.end(signal.reason instanceof Error ? signal.reason : new Error("the watch was aborted"));
    this.#watches.add(stream);
    signal.addEventListener("abort", stop, { once: true });
    stream.onEnd(() => {
      this.#watches.delete(stream);
      signal.removeEventListener("abort", stop);
    });
    if (signal.aborted) stop();
  }
}

const formatOf = ({ headers, query }: ParsedRequest): ResponseFormat => responseFormatOf(headers.accept, query);

const DONE = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

/** The resource and object that an API path names. */
interface ApiRoute {
  readonly resource: ServedResource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** As in Kubernetes, a trailing slash is ignored; an empty segment anywhere else gives 404. */
function segmentsOf(path: string): string[] {
  const parts = path.replace(/^\//, "").replace(/\/$/, "").split("/");
  if (parts.length === 1 && parts[0] === "") return [];
  if (parts.includes("")) throw noSuchPath();
  try {
    return parts.map(decodeURIComponent);
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} has an invalid percent-encoding`);
  }
}

/** Subresources of a Namespace. Any other segment after a namespace name is a namespaced kind. */
const namespaceSubresources = new Set(["status", "finalize"]);

function routeOf(registry: Registry, segments: readonly string[]): ApiRoute | undefined {
  const [root, ...after] = segments;
  if (root !== "api" && root !== "apis") return undefined;
  const group = root === "api" ? "" : (after.shift() ?? "");
  const version = after.shift() ?? "";
  const inNamespace = after[0] === "namespaces" && after.length > 2 && !namespaceSubresources.has(after[2] ?? "");
  const [plural = "", name, subresource, ...more] = inNamespace ? after.slice(2) : after;
  const resource = registry.find(group, version, plural);
  const namespace = inNamespace ? after[1] : undefined;
  if (resource === undefined || more.length > 0) return undefined;
  // A cluster-scoped kind cannot be addressed in a namespace, nor a namespaced object outside one.
  if (inNamespace ? !resource.namespaced : resource.namespaced && name !== undefined) return undefined;
  return { resource, namespace, name, subresource };
}
