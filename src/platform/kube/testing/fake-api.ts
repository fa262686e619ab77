// A minimal in-process Kubernetes API for tests, without schemas and with injectable faults.
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { isRecord, type KubeObject } from "../client/object.ts";
import type { ApiRequest, ApiResponse, Transport } from "../client/transport.ts";
import { jsonResponse, openBody, status, truncatedResponse, type Watcher, waitForAbort } from "./fake-responses.ts";

/** A fault injected into a request. */
export type FakeApiFault =
  | { readonly answer: number; readonly headers?: Readonly<Record<string, string>>; readonly message?: string }
  | "no connection"
  /** No response; "done, then silence" executes the request first. */
  | "silence"
  | "done, then silence"
  /** Aborts the response halfway. */
  | "torn"
  | { readonly late: number };

interface Logged {
  readonly version: number;
  readonly collection: string;
  readonly line: string;
}

export class FakeApi implements Transport {
  readonly objects = new Map<string, KubeObject>();
  readonly watchers = new Set<Watcher>();
  readonly requests: ApiRequest[] = [];
  /** Called for each request. */
  fault: (request: ApiRequest) => FakeApiFault | undefined = () => undefined;
  version = 1000;
  compacted = 1000;
  readonly #clock: Clock;
  readonly #log: Logged[] = [];
  readonly #snapshots = new Map<string, readonly KubeObject[]>();
  #uids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    this.requests.push(request);
    request.signal.throwIfAborted();
    const fault = this.fault(request);
    if (fault === "no connection") throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    if (fault === "silence") return waitForAbort(request.signal);
    if (fault !== undefined && typeof fault === "object" && "late" in fault) {
      await this.#clock.sleep(milliseconds(fault.late), request.signal);
    }
    if (fault !== undefined && typeof fault === "object" && "answer" in fault) {
      return jsonResponse(fault.answer, status(fault.answer, "Injected", fault.message ?? "injected"), fault.headers);
    }
    const response = this.#handle(request);
    if (fault === "done, then silence") return waitForAbort(request.signal);
    return fault === "torn" ? truncatedResponse(response) : response;
  }

  async close(): Promise<void> {
    for (const watcher of this.watchers) watcher.end(new Error("closed"));
  }

  /** Creates or replaces an object and returns it. */
  put(path: string, object: { readonly metadata?: object; readonly [field: string]: unknown }): KubeObject {
    const old = this.objects.get(path);
    const name = decodeURIComponent(path.split("/").at(-1) ?? "");
    const namespace = /\/namespaces\/([^/]+)\/./.exec(path)?.[1];
    const metadata = {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: old?.metadata.uid ?? `uid-${++this.#uids}`,
      ...object.metadata,
      resourceVersion: String(++this.version),
    };
    const stored = { ...object, metadata };
    this.objects.set(path, stored);
    this.#tell(path, old === undefined ? "ADDED" : "MODIFIED", stored);
    return stored;
  }

  remove(path: string): void {
    const old = this.objects.get(path);
    if (old === undefined) return;
    this.objects.delete(path);
    const last = { ...old, metadata: { ...old.metadata, resourceVersion: String(++this.version) } };
    this.#tell(path, "DELETED", last);
  }

  /** Drops the history: older resourceVersions get 410. */
  compact(): void {
    this.compacted = this.version;
    this.#log.length = 0;
    this.#snapshots.clear();
  }

  /** The watch lines of a collection since the last compaction. */
  watchLinesOf(collection: string): readonly string[] {
    return this.#log.filter((logged) => logged.collection === collection).map(({ line }) => line);
  }

  bookmark(): void {
    const object = { metadata: { resourceVersion: String(this.version) } };
    for (const watcher of this.watchers) watcher.send(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  }

  /** Breaks all watches and resets the version, as after a restore; objects keep their uids. */
  restart(version: number): void {
    for (const watcher of this.watchers) watcher.end(new Error("connection reset"));
    this.version = version;
    for (const [path, { metadata, ...rest }] of this.objects) {
      this.objects.set(path, { ...rest, metadata: { ...metadata, resourceVersion: String(++this.version) } });
    }
    this.compact();
  }

  #handle(request: ApiRequest): ApiResponse {
    const url = new URL(request.path, "http://fake");
    const path = url.pathname;
    const below = path.replace(/^\/(api|apis\/[^/]+)\/[^/]+/, "").replace(/^\/namespaces\/[^/]+(?=\/)/, "");
    const isCollection = below.split("/").length === 2;
    if (request.method === "GET" && url.searchParams.has("watch")) return this.#watch(request, url);
    if (request.method === "GET" && isCollection) return this.#list(url);
    const body: unknown = request.body === undefined ? undefined : JSON.parse(request.body);
    return this.#single(request.method, path, isRecord(body) ? body : {});
  }

  #single(method: ApiRequest["method"], path: string, body: Readonly<Record<string, unknown>>): ApiResponse {
    const metadata = isRecord(body.metadata) ? body.metadata : {};
    if (method === "POST") {
      const target = `${path}/${String(metadata.name)}`;
      if (this.objects.has(target)) return jsonResponse(409, status(409, "AlreadyExists", `${target} already exists`));
      return jsonResponse(201, this.put(target, body));
    }
    const old = this.objects.get(path);
    if (old === undefined) return jsonResponse(404, status(404, "NotFound", `${path} not found`));
    if (method === "GET") return jsonResponse(200, old);
    if (method === "DELETE") {
      this.remove(path);
      return jsonResponse(200, status(200, "", ""));
    }
    const expected = metadata.resourceVersion;
    if (expected !== undefined && expected !== old.metadata.resourceVersion) {
      return jsonResponse(409, status(409, "Conflict", "the object has been modified"));
    }
    return jsonResponse(200, this.put(path, merged(old, body) as typeof body));
  }

  #list(url: URL): ApiResponse {
    const limit = Number(url.searchParams.get("limit") ?? "0");
    const token = url.searchParams.get("continue");
    const [version, from] = token === null ? [String(this.version), 0] : (JSON.parse(token) as [string, number]);
    const name = `${version} ${url.pathname}`;
    if (token === null) this.#snapshots.set(name, this.#in(url.pathname));
    const all = this.#snapshots.get(name);
    if (all === undefined) return jsonResponse(410, status(410, "Expired", "the continue token is too old"));
    const end = limit > 0 ? from + limit : all.length;
    const more = end < all.length;
    return jsonResponse(200, {
      kind: "List",
      metadata: { resourceVersion: version, ...(more && { continue: JSON.stringify([version, end]) }) },
      items: all.slice(from, end),
    });
  }

  #watch({ signal }: ApiRequest, url: URL): ApiResponse {
    const from = Number(url.searchParams.get("resourceVersion"));
    if (from < this.compacted) return jsonResponse(410, status(410, "Expired", `too old resource version: ${from}`));
    if (from > this.version) return jsonResponse(504, status(504, "Timeout", `Too large resource version: ${from}`));
    const { watcher, body } = openBody(url.pathname, signal, () => this.watchers.delete(watcher));
    this.watchers.add(watcher);
    for (const { version, collection, line } of this.#log) {
      if (version > from && collection === url.pathname) watcher.send(line);
    }
    return { status: 200, headers: {}, body };
  }

  #in(collection: string): KubeObject[] {
    return [...this.objects].filter(([path]) => collectionsOf(path).includes(collection)).map(([, object]) => object);
  }

  #tell(path: string, type: string, object: KubeObject): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    for (const collection of collectionsOf(path)) {
      this.#log.push({ version: this.version, collection, line });
      for (const watcher of this.watchers) if (watcher.path === collection) watcher.send(line);
    }
  }
}

/** The collections of an object: its namespace's and the cluster-wide one. */
function collectionsOf(path: string): string[] {
  const own = path.slice(0, path.lastIndexOf("/"));
  const all = own.replace(/\/namespaces\/[^/]+(?=\/)/, "");
  return all === own ? [own] : [own, all];
}

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
