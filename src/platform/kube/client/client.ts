import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { type WatchEvent, watchEvents } from "../watch/watch-events.ts";
import { CallLimit } from "./call-limit.ts";
import type { DeleteOptions, ListQuery, Manifest, Selection, WatchQuery, WriteOptions } from "./call-types.ts";
import { Caller, type CallOptions } from "./caller.ts";
import { ApiError, describeCall } from "./errors.ts";
import { isRecord, type KubeObject, type ObjectName } from "./object.ts";
import { type ListPage, readPages } from "./pages.ts";
import { apiVersionOf, pathOf, type Resource, resources } from "./resources.ts";
import type { ApiRequest, Transport } from "./transport.ts";

export interface KubeClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The default field manager of writes. */
  readonly fieldManager: string;
  readonly userAgent?: string;
  readonly timeout?: Milliseconds;
  readonly retries?: number;
  /** Rate limit: sustained calls per second, burst, and queue length. */
  readonly limit?: { readonly perSecond: number; readonly burst: number; readonly queue: number };
  /** Maximum size of a response body in bytes. */
  readonly maxBody?: number;
}

/**
 * A Kubernetes API client, one method per verb. Every call has a timeout and passes the client's rate limit; safe calls are
 * retried. Results are not validated: the type parameter is the caller's assumption, and
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
      maxBody: options.maxBody ?? 256 * 2 ** 20,
    });
  }

  async get<Item extends KubeObject>(resource: Resource, at: ObjectName, options?: CallOptions): Promise<Item> {
    return this.#object<Item>({ method: "GET", path: pathOf(resource, at) }, true, options);
  }

  async list<Item extends KubeObject>(
    resource: Resource,
    query: ListQuery = {},
    options?: CallOptions,
  ): Promise<ListPage<Item>> {
    const { limit, next } = query;
    const path = collection(resource, query, { limit: limit?.toString(), continue: next });
    const request = { method: "GET", path } as const;
    return pageOf<Item>(request, await this.#caller.call(request, true, options));
  }

  /** Lists all pages at one resourceVersion. */
  async listAll<Item extends KubeObject>(
    resource: Resource,
    selection: Selection = {},
    options?: CallOptions & { readonly pageSize?: number },
  ): Promise<Omit<ListPage<Item>, "next">> {
    return this.listOf(resource, (item) => item as Item, selection, options);
  }

  /** Lists all pages and keeps what `project` makes of each item; of undefined nothing. Frees each page: Nodes are large. */
  async listOf<Kept>(
    resource: Resource,
    project: (item: KubeObject) => Kept | undefined,
    selection: Selection = {},
    options?: CallOptions & { readonly pageSize?: number },
  ): Promise<{ readonly items: Kept[]; readonly resourceVersion: string }> {
    let items: Kept[] = [];
    const resourceVersion = await readPages<KubeObject>({
      fetch: async (page) => this.list<KubeObject>(resource, { ...selection, ...page }, options),
      begin: () => {
        items = [];
      },
      page: (more) => {
        for (const item of more) {
          const kept = project(item);
          if (kept !== undefined) items.push(kept);
        }
      },
      pageSize: options?.pageSize ?? 500,
    });
    return { items, resourceVersion };
  }

  /**
   * Watches changes after a resourceVersion, in batches as they arrive. Resolves when the server has opened the watch. The
   * iteration ends when the server closes the watch, and throws on an ERROR event, a lost connection or invalid data.
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

  /** Server-side apply. `force` takes over fields that other managers own. */
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

  /** RFC 7396 merge patch. With `metadata.resourceVersion` it applies only to that version. */
  async mergePatch<Item extends KubeObject>(
    resource: Resource,
    at: ObjectName,
    patch: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<Item> {
    return this.#write<Item>("PATCH", resource, at, options, {
      type: "application/merge-patch+json",
      body: patch,
      // With a resourceVersion, a retry after a lost response would conflict with the first attempt's success.
      idempotent: !(isRecord(patch.metadata) && patch.metadata.resourceVersion !== undefined),
    });
  }

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

  /** Asks for the eviction of a pod. Fails as `tooMany` while a PodDisruptionBudget forbids it. */
  async evict({ uid, ...at }: ObjectName & { readonly uid?: string }, options?: CallOptions): Promise<void> {
    const deleteOptions = uid === undefined ? undefined : { preconditions: { uid } };
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: at, deleteOptions };
    const path = pathOf(resources.pods, { ...at, subresource: "eviction" });
    await this.#caller.call(post(path, eviction), false, { retries: 0, ...options });
  }

  async delete(resource: Resource, at: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { preconditions, gracePeriodSeconds } = options;
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions, gracePeriodSeconds };
    const request = { ...post(pathOf(resource, at), body), method: "DELETE" } as const;
    // Without a uid, a repeated delete could delete a recreated object.
    await this.#caller.call(request, preconditions?.uid !== undefined, options);
  }

  /** Reads any path, for example under `metrics.k8s.io`. */
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
      throw new ApiError("garbled", `${describeCall(request)}: the response is not an object`);
    return value as unknown as Item;
  }
}

const JSON_BODY = "application/json";

export type Query = Readonly<Record<string, string | undefined>>;

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

function collection(resource: Resource, { namespace, labelSelector, fieldSelector }: Selection, query: Query): string {
  const path = pathOf(resource, { ...(namespace !== undefined && { namespace }) });
  return withQuery(path, { labelSelector, fieldSelector, ...query });
}

const typeOf = (resource: Resource) => ({ apiVersion: apiVersionOf(resource), kind: resource.kind });

const post = (path: string, body: unknown) =>
  ({ method: "POST", path, headers: { "content-type": JSON_BODY }, body: JSON.stringify(body) }) as const;

function pageOf<Item extends KubeObject>(request: Pick<ApiRequest, "method" | "path">, value: unknown): ListPage<Item> {
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
