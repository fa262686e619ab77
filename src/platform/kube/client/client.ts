import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { type WatchEvent, watchEvents } from "../watch/watch-events.ts";
import { CallLimit } from "./call-limit.ts";
import type {
  DeleteOptions,
  JsonPatchOperation,
  ListQuery,
  Manifest,
  Selection,
  WatchQuery,
  WriteOptions,
} from "./call-types.ts";
import { Caller, type CallOptions } from "./caller.ts";
import { ApiError, describeCall } from "./errors.ts";
import { isRecord, type KubeObject, type ObjectName } from "./object.ts";
import { type ListPage, readPages } from "./pages.ts";
import { collection, JSON_BODY, pageOf, post, type Query, typeOf, withQuery } from "./request-builders.ts";
import { pathOf, type Resource } from "./resource.ts";
import { resources } from "./resources.ts";
import type { ApiRequest, Transport } from "./transport.ts";

export interface KubeClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Whose fields are written, where a call does not say. */
  readonly fieldManager: string;
  readonly userAgent?: string;
  readonly timeout?: Milliseconds;
  readonly retries?: number;
  /** Calls per second in the long run, at once, and waiting. */
  readonly limit?: { readonly perSecond: number; readonly burst: number; readonly queue: number };
  /** Bytes of an answer that are held at most. */
  readonly longestBody?: number;
}

/**
 * The verbs of a Kubernetes API, one method each. Every call has a time limit and passes the client's own limit; what may
 * be repeated safely is repeated. Results are what the server sent: their type parameter is the caller's claim, and
 * objects of our own kinds go through `read` of core/api.
 */
export class KubeClient {
  readonly #caller: Caller;
  readonly #fieldManager: string;

  constructor(options: KubeClientOptions) {
    const { transport, clock, random, limit = { perSecond: 100, burst: 200, queue: 20_000 } } = options;
    this.#fieldManager = options.fieldManager;
    this.#caller = new Caller({
      transport,
      clock,
      random,
      limit: new CallLimit({ clock, ...limit }),
      timeout: options.timeout ?? milliseconds(30_000),
      retries: options.retries ?? 4,
      userAgent: options.userAgent ?? "joulie",
      longestBody: options.longestBody ?? 256 * 2 ** 20,
    });
  }

  async get<Item extends KubeObject>(resource: Resource, at: ObjectName, options?: CallOptions): Promise<Item> {
    return this.#object<Item>({ method: "GET", path: pathOf(resource, at) }, true, options);
  }

  /** One page. */
  async list<Item extends KubeObject>(
    resource: Resource,
    query: ListQuery = {},
    options?: CallOptions,
  ): Promise<ListPage<Item>> {
    const { limit, next, resourceVersion } = query;
    const path = collection(resource, query, {
      limit: limit?.toString(),
      continue: next,
      // A token already names its moment; both together are refused.
      resourceVersion: next === undefined ? resourceVersion : undefined,
    });
    const request = { method: "GET", path } as const;
    return pageOf<Item>(request, await this.#caller.call(request, true, options));
  }

  /** All pages of one moment. */
  async listAll<Item extends KubeObject>(
    resource: Resource,
    selection: Selection = {},
    options?: CallOptions & { readonly pageSize?: number },
  ): Promise<Omit<ListPage<Item>, "next">> {
    let items: Item[] = [];
    const resourceVersion = await readPages<Item>({
      fetch: async (page) => this.list<Item>(resource, { ...selection, ...page }, options),
      begin: () => {
        items = [];
      },
      page: (more) => {
        for (const item of more) items.push(item);
      },
      pageSize: options?.pageSize ?? 500,
    });
    return { items, resourceVersion };
  }

  /**
   * Changes after a moment, as many at a time as have arrived. Resolves once the server has opened the watch. The events
   * end when the server closes it, and throw when it reports an error, breaks off or sends what is no event.
   */
  async watch<Item extends KubeObject>(
    resource: Resource,
    query: WatchQuery,
    options: CallOptions & { readonly signal: AbortSignal },
  ): Promise<AsyncGenerator<readonly WatchEvent<Item>[], void, undefined>> {
    const { resourceVersion, serverTimeout } = query;
    const path = collection(resource, query, {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion,
      timeoutSeconds: serverTimeout && String(Math.ceil(serverTimeout / 1000)),
    });
    const request = { method: "GET", path } as const;
    const response = await this.#caller.open(request, options.signal, options);
    return watchEvents<Item>(request, response.body, options);
  }

  async create<Item extends KubeObject>(
    resource: Resource,
    manifest: Manifest,
    options: WriteOptions & { readonly namespace?: string } = {},
  ): Promise<Item> {
    const { namespace } = options;
    return this.#write<Item>("POST", resource, { ...(namespace !== undefined && { namespace }) }, options, {
      type: JSON_BODY,
      body: { ...typeOf(resource), ...manifest },
      idempotent: false,
    });
  }

  /** Server-side apply: says which fields we want and owns them. `force` takes them from whoever else owned them. */
  async apply<Item extends KubeObject>(
    resource: Resource,
    at: ObjectName,
    manifest: { readonly metadata?: Manifest["metadata"]; readonly [field: string]: unknown },
    options: WriteOptions & { readonly force?: boolean } = {},
  ): Promise<Item> {
    return this.#write<Item>("PATCH", resource, at, options, {
      type: "application/apply-patch+yaml",
      body: { ...typeOf(resource), ...manifest, metadata: { ...manifest.metadata, ...at } },
      query: { force: options.force === true ? "true" : undefined },
      idempotent: true,
    });
  }

  /** RFC 7396: what is named is set, null removes. With `metadata.resourceVersion` in it, only on that version. */
  async mergePatch<Item extends KubeObject>(
    resource: Resource,
    at: ObjectName,
    patch: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<Item> {
    return this.#write<Item>("PATCH", resource, at, options, {
      type: "application/merge-patch+json",
      body: patch,
      // On one version only: after a lost answer the repetition would meet a conflict with our own success.
      idempotent: !(isRecord(patch.metadata) && patch.metadata.resourceVersion !== undefined),
    });
  }

  async jsonPatch<Item extends KubeObject>(
    resource: Resource,
    at: ObjectName,
    operations: readonly JsonPatchOperation[],
    options: WriteOptions = {},
  ): Promise<Item> {
    return this.#write<Item>("PATCH", resource, at, options, {
      type: "application/json-patch+json",
      body: operations,
      // Adding to a list twice is not adding once.
      idempotent: false,
    });
  }

  /** Assigns a pod to a node, as a scheduler does. */
  async bind(pod: ObjectName & { readonly uid?: string }, node: string, options?: CallOptions): Promise<void> {
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: pod,
      target: { apiVersion: "v1", kind: "Node", name: node },
    };
    const path = pathOf(resources.pods, { ...pod, subresource: "binding" });
    await this.#caller.call(post(path, binding), false, options);
  }

  async delete(resource: Resource, at: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { preconditions } = options;
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...(preconditions && { preconditions }) };
    const request = { ...post(pathOf(resource, at), body), method: "DELETE" } as const;
    // By name alone, a repeated delete could hit what was created in between.
    await this.#caller.call(request, preconditions?.uid !== undefined, options);
  }

  /** Reads any path, for example of `metrics.k8s.io`. */
  async raw(path: string, options?: CallOptions): Promise<unknown> {
    return this.#caller.call({ method: "GET", path }, true, options);
  }

  async #write<Item extends KubeObject>(
    method: "POST" | "PATCH",
    resource: Resource,
    at: Partial<ObjectName>,
    options: WriteOptions,
    what: { type: string; body: unknown; query?: Query; idempotent: boolean },
  ): Promise<Item> {
    const { subresource, fieldManager = this.#fieldManager } = options;
    const path = pathOf(resource, { ...at, ...(subresource !== undefined && { subresource }) });
    return this.#object<Item>(
      {
        method,
        path: withQuery(path, { fieldManager, ...what.query }),
        headers: { "content-type": what.type },
        body: JSON.stringify(what.body),
      },
      what.idempotent,
      options,
    );
  }

  async #object<Item extends KubeObject>(
    request: Omit<ApiRequest, "signal">,
    idempotent: boolean,
    options: CallOptions | undefined,
  ): Promise<Item> {
    const value = await this.#caller.call(request, idempotent, options);
    if (!isRecord(value) || !isRecord(value.metadata))
      throw new ApiError("garbled", `${describeCall(request)}: no object came back`);
    return value as unknown as Item;
  }
}
