import { randomBytes } from "node:crypto";
import type { RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { ApiRequest, ApiResponse, Transport } from "../kube/index.ts";
import { RequestHandler } from "./api/handler.ts";
import { type ListeningServer, type ListenOptions, serveApi } from "./api/http.ts";
import type { WatchStream } from "./api/watch-stream.ts";
import { namespaces } from "./kinds/builtin-kinds.ts";
import { crds } from "./kinds/crds.ts";
import { Registry } from "./kinds/registry.ts";
import type { JsonObject } from "./storage/json.ts";
import { EmbeddedStore, type Server } from "./storage/store.ts";
import { WorkloadControllers } from "./workloads/workload-controllers.ts";
import type { ApiWriteOptions } from "./write/admission.ts";
import { create } from "./write/create.ts";
import { expireEvents } from "./write/deletion.ts";
import { GarbageCollector } from "./write/garbage-collector.ts";

export interface EmbeddedOptions {
  readonly clock: Clock;
  /** Source of uids and generated names. */
  readonly random: RandomSource;
  /** CustomResourceDefinitions installed at startup. */
  readonly crds?: readonly object[];
  /** How many changes of each kind the server retains; an older watch gets 410. */
  readonly historyLimit?: number;
}

const firstNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
const itself: ApiWriteOptions = { manager: "joulie-embedded", strict: true };

/** An in-memory Kubernetes API server inside this process. */
export class EmbeddedApi {
  protected readonly store: EmbeddedStore;
  readonly #handler: RequestHandler;
  readonly #clock: Clock;
  readonly #open = new Set<ListeningServer>();

  constructor(options: EmbeddedOptions) {
    const { clock, random } = options;
    this.#clock = clock;
    this.store = new EmbeddedStore(options.historyLimit ?? 10_000);
    const server: Server = { store: this.store, registry: new Registry(), clock, random };
    this.#handler = new RequestHandler(server);
    serveCrds(server);
    expireEvents(server);
    // Registered after serveCrds, so that it also collects the dependents of objects removed with their CRD.
    void new GarbageCollector(server);
    void new WorkloadControllers(server);
    for (const name of firstNamespaces) create(server, namespaces, undefined, { metadata: { name } }, itself);
    for (const crd of options.crds ?? []) create(server, crds, undefined, crd as JsonObject, itself);
  }

  /** An in-process transport without socket or token. */
  transport(): Transport {
    const closed = new AbortController();
    return {
      request: async (request) => {
        closed.signal.throwIfAborted();
        const signal = AbortSignal.any([request.signal, closed.signal]);
        return this.answer({ ...request, signal });
      },
      close: async () => closed.abort(new Error("the transport is closed")),
    };
  }

  /** Serves the API over loopback HTTP. The bearer token is a secret, so it comes from the system's random source. */
  async listen(options: ListenOptions = {}): Promise<ListeningServer> {
    const token = randomBytes(24).toString("base64url");
    const listening = await serveApi(
      { answer: async (request) => this.answer(request), token, clock: this.#clock },
      options,
    );
    this.#open.add(listening);
    return listening;
  }

  /** Ends every watch and every listener. */
  async close(): Promise<void> {
    this.endWatches((watch) => watch.end());
    await Promise.all([...this.#open].map(async (listening) => listening.close()));
    this.#open.clear();
  }

  protected async answer(request: ApiRequest): Promise<ApiResponse> {
    request.signal.throwIfAborted();
    return this.#handler.handle(request);
  }

  protected endWatches(end: (watch: WatchStream) => void): void {
    for (const watch of this.#handler.watches) end(watch);
  }
}

/** Serves a CRD's kind while the CRD exists, and deletes its objects with it. */
function serveCrds({ store, registry }: Server): void {
  store.listen(({ type, current }, collection) => {
    if (collection.id !== crds.storedAs) return;
    if (type !== "DELETED") {
      registry.install(current.object);
      return;
    }
    const gone = registry.uninstall(current.object);
    if (gone === undefined) return;
    const objects = store.collection(gone.storedAs);
    for (const stored of objects.list()) store.remove(objects, stored);
  });
}
