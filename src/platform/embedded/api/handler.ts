import type { ApiRequest, ApiResponse } from "../../kube/index.ts";
import { apply, isApply, patch } from "../patch/patch.ts";
import { storageKeyOf } from "../storage/collection.ts";
import { isJsonObject, jsonObjectOr, stringAt } from "../storage/json.ts";
import type { Server } from "../storage/server.ts";
import type { StoredObject } from "../storage/stored-object.ts";
import type { WriteResult } from "../write/admission.ts";
import { bind } from "../write/binding.ts";
import { create } from "../write/create.ts";
import { deletionOptionsOf, evict, remove } from "../write/deletion.ts";
import { update } from "../write/update.ts";
import { discoveryReply, isScalable, resized, scaleOf } from "./discovery.ts";
import { openapiReply } from "./openapi.ts";
import { get, list, objectReply, selected, watch } from "./reads.ts";
import { errorReply, jsonReply, partsReply, warningHeader } from "./reply.ts";
import {
  isDryRun,
  mediaTypeOf,
  objectBody,
  optionalBody,
  type ParsedRequest,
  parseRequest,
  patchBody,
  writeOptionsOf,
} from "./request.ts";
import { listText, responseFormatOf } from "./response-format.ts";
import { type ApiRoute, routeOf, segmentsOf } from "./route.ts";
import { badRequest, methodNotAllowed, noSuchPath, notFound, success } from "./status.ts";
import type { WatchStream } from "./watch-stream.ts";

/** Handles API requests from the in-memory transport and from HTTP. */
export class RequestHandler {
  readonly #server: Server;
  readonly #watches = new Set<WatchStream>();

  constructor(server: Server) {
    this.#server = server;
  }

  /** The open watches. */
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
      const known = discoveryReply(segments, asked.headers.accept ?? "", all) ?? openapiReply(segments, all);
      if (known !== undefined) return known;
    }
    const binding = bindingOf(segments, asked);
    if (binding !== undefined) return this.#bind(binding, asked);
    const eviction = podSubresourceOf(segments, "eviction");
    if (eviction !== undefined) return this.#evict(eviction, asked);
    const route = routeOf(registry, segments);
    if (route?.name !== undefined && route.subresource === "scale" && isScalable(route.resource))
      return this.#scale(route, route.name, asked);
    if (route === undefined || (route.subresource !== undefined && !hasSubresource(route))) throw noSuchPath();
    if (route.name === undefined) return this.#onCollection(route, asked, signal);
    return this.#onObject(route, route.name, asked);
  }

  #onCollection(route: ApiRoute, asked: ParsedRequest, signal: AbortSignal): ApiResponse {
    switch (asked.method) {
      case "GET":
        return this.#read(route, asked, signal);
      case "POST":
        return this.#create(route, asked);
      case "DELETE":
        return this.#removeSelected(route, asked);
      case "PUT":
      case "PATCH":
      default:
        throw methodNotAllowed();
    }
  }

  #onObject(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    switch (asked.method) {
      case "GET": {
        const form = responseFormatOf(asked.headers.accept, asked.query);
        return objectReply(this.#server, route.resource, this.#get(route, name), form);
      }
      case "PUT":
        return this.#replace(route, name, asked);
      case "PATCH":
        return this.#written(route, asked, this.#patched(route, name, asked));
      case "DELETE":
        return this.#remove(route, name, asked);
      case "POST":
      default:
        throw methodNotAllowed();
    }
  }

  #get({ resource, namespace }: ApiRoute, name: string): StoredObject {
    return get(this.#server, resource, namespace, name);
  }

  #read({ resource, namespace }: ApiRoute, asked: ParsedRequest, signal: AbortSignal): ApiResponse {
    const { query, headers } = asked;
    const form = responseFormatOf(headers.accept, query);
    if (!isTrue(query.get("watch"))) return list(this.#server, resource, namespace, query, form);
    const { reply, stream } = watch(this.#server, resource, namespace, query, form);
    this.#keep(stream, signal);
    return reply;
  }

  #create(route: ApiRoute, asked: ParsedRequest): ApiResponse {
    const { resource, namespace } = route;
    if (resource.namespaced && namespace === undefined) throw methodNotAllowed();
    const options = writeOptionsOf(asked, undefined, false);
    return this.#written(route, asked, create(this.#server, resource, namespace, objectBody(asked), options));
  }

  #replace(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    const body = objectBody(asked);
    const options = writeOptionsOf(asked, route.subresource, false);
    return this.#written(route, asked, update(this.#server, route.resource, this.#get(route, name), body, options));
  }

  #remove(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    if (route.subresource !== undefined) throw methodNotAllowed();
    const { resource } = route;
    const options = deletionOptionsOf(asked.query, optionalBody(asked));
    const { stored, gone } = remove(this.#server, resource, this.#get(route, name), options);
    // Kubernetes returns the last state of a deleted pod, and a Status for any other object that it removes immediately.
    if (gone && resource.storedAs !== "/pods")
      return jsonReply(200, success(resource, name, stored.object.metadata.uid));
    return objectReply(this.#server, resource, stored, responseFormatOf(asked.headers.accept, asked.query));
  }

  #removeSelected({ resource, namespace }: ApiRoute, asked: ParsedRequest): ApiResponse {
    if (resource.undeletableNames !== undefined) throw methodNotAllowed();
    const options = deletionOptionsOf(asked.query, optionalBody(asked));
    const found = selected(this.#server, resource, namespace, asked.query);
    const gone = found.map((stored) => remove(this.#server, resource, stored, options).stored);
    return partsReply(200, listText(resource, gone, { resourceVersion: String(this.#server.store.version) }));
  }

  #patched({ resource, namespace, subresource }: ApiRoute, name: string, asked: ParsedRequest): WriteResult {
    const mediaType = mediaTypeOf(asked);
    const body = patchBody(asked);
    const options = writeOptionsOf(asked, subresource, isApply(mediaType));
    if (!isApply(mediaType)) {
      return patch(this.#server, resource, get(this.#server, resource, namespace, name), mediaType, body, options);
    }
    if (!isJsonObject(body)) throw badRequest("the applied configuration is not an object");
    const stored = this.#server.store.collection(resource.storedAs).get(storageKeyOf(namespace, name));
    if (stored === undefined && subresource !== undefined) throw notFound(resource, name);
    const force = isTrue(asked.query.get("force"));
    return apply(this.#server, resource, { namespace, name, stored, force }, body, options);
  }

  #written({ resource }: ApiRoute, asked: ParsedRequest, { stored, created, warnings }: WriteResult): ApiResponse {
    const form = responseFormatOf(asked.headers.accept, asked.query);
    return objectReply(this.#server, resource, stored, form, created ? 201 : 200, warningHeader(warnings));
  }

  #bind({ namespace, name }: { namespace: string; name: string | undefined }, asked: ParsedRequest): ApiResponse {
    if (asked.method !== "POST") throw methodNotAllowed();
    const body = objectBody(asked);
    bind(this.#server, namespace, name ?? stringAt(body, "metadata", "name"), body, isDryRun(asked.query));
    return jsonReply(201, DONE);
  }

  #evict({ namespace, name }: PodAddress, asked: ParsedRequest): ApiResponse {
    if (asked.method !== "POST") throw methodNotAllowed();
    evict(this.#server, namespace, name, objectBody(asked), asked.query);
    return jsonReply(201, DONE);
  }

  #scale(route: ApiRoute, name: string, asked: ParsedRequest): ApiResponse {
    const { resource } = route;
    const stored = this.#get(route, name);
    if (asked.method === "GET") return jsonReply(200, scaleOf(stored.object));
    if (asked.method !== "PUT" && asked.method !== "PATCH") throw methodNotAllowed();
    const scale = asked.method === "PUT" ? objectBody(asked) : jsonObjectOr(patchBody(asked));
    const options = writeOptionsOf(asked, undefined, false);
    const written = update(this.#server, resource, stored, resized(stored.object, scale), options);
    return jsonReply(200, scaleOf(written.stored.object));
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

const isTrue = (value: string | null): boolean => value === "true" || value === "1";

const hasSubresource = ({ resource, name, subresource }: ApiRoute): boolean =>
  name !== undefined && subresource === "status" && resource.hasStatus;

const DONE = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

interface PodAddress {
  readonly namespace: string;
  readonly name: string;
}

/** `…/pods/NAME/binding` and `…/pods/NAME/eviction`. */
function podSubresourceOf(segments: readonly string[], wanted: "binding" | "eviction"): PodAddress | undefined {
  const [root, version, namespaces, namespace, plural, name, subresource, ...more] = segments;
  if (root !== "api" || version !== "v1" || namespaces !== "namespaces" || plural !== "pods") return undefined;
  if (namespace === undefined || name === undefined || subresource !== wanted || more.length > 0) return undefined;
  return { namespace, name };
}

/** `…/pods/NAME/binding`, or `…/bindings` with the name in the body. */
function bindingOf(segments: readonly string[], asked: ParsedRequest) {
  const [root, version, namespaces, namespace, plural, ...more] = segments;
  const isList = root === "api" && version === "v1" && namespaces === "namespaces" && plural === "bindings";
  if (isList && namespace !== undefined && more.length === 0 && asked.method === "POST")
    return { namespace, name: undefined };
  return podSubresourceOf(segments, "binding");
}
