import { apiGroup, errorMessageOf } from "../../../core/api/index.ts";
import { type ClusterKind, type ClusterObjects, resourceNames } from "../../../core/report/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { endsWithin } from "../../../platform/clock/index.ts";
import { isApiError, resources } from "../../../platform/kube/index.ts";
import { clusterTime, readInstallation } from "./cluster-reader.ts";
import { ClusterReflectors, type ClusterReflectorsOptions } from "./cluster-reflectors.ts";

/** The objects, with the kinds that are not known, and those of them that are still read. */
export interface WatchedObjects extends ClusterObjects {
  readonly notListed: readonly ClusterKind[];
  readonly pending: readonly ClusterKind[];
}

const FIRST_LISTS = milliseconds(30_000);
const ALIVE = milliseconds(5000);

/** The objects of commands that watch: lists of a large cluster every few seconds would load the API server. */
export class WatchedCluster {
  readonly #options: ClusterReflectorsOptions;
  readonly #reflectors: ClusterReflectors;
  /** Resolved when the API server refuses a kind or does not have it: reading does not wait for it. */
  readonly #refused: Readonly<Record<ClusterKind, PromiseWithResolvers<void>>>;

  constructor(options: ClusterReflectorsOptions) {
    this.#options = options;
    this.#refused = {
      nodes: Promise.withResolvers(),
      twins: Promise.withResolvers(),
      hardware: Promise.withResolvers(),
      profiles: Promise.withResolvers(),
      endpoints: Promise.withResolvers(),
      pods: Promise.withResolvers(),
    };
    this.#reflectors = new ClusterReflectors({ ...options, onRefused: (kind) => this.#refused[kind].resolve() });
  }

  start(): void {
    this.#reflectors.start();
  }

  async stop(): Promise<void> {
    await this.#reflectors.stop();
  }

  /** The same with what is installed, which is little and read each time. */
  async readAll(namespace: string, signal?: AbortSignal): Promise<ClusterObjects> {
    const objects = await this.read(signal);
    const { client, clock } = this.#options;
    const unreadable: string[] = [];
    const installed = await readInstallation(client, namespace, clock.now(), (part, error) =>
      unreadable.push(`${part}: ${errorMessageOf(error)}`),
    );
    const { kinds } = this.#reflectors;
    for (const kind of kinds) {
      if (this.#reflectors.isPending(kind)) unreadable.push(`${resourceNames[kind]}: they are not read yet`);
      if (this.#reflectors.of(kind).isForbidden)
        unreadable.push(`${resourceNames[kind]}: you may not list and watch them`);
    }
    const missingKinds = kinds
      .filter((kind) => this.#reflectors.of(kind).missingDefinition !== undefined)
      .map((kind) => `${resourceNames[kind]}.${apiGroup}`)
      .toSorted();
    return { ...objects, installation: { ...installed, missingKinds, unreadable: unreadable.toSorted() } };
  }

  /** The current objects. Rejects while the API server does not answer: a watch alone would notice that after a minute. */
  async read(signal?: AbortSignal): Promise<WatchedObjects> {
    const { client, clock, nodeSelector } = this.#options;
    // The caller reads again soon and says meanwhile what failed.
    const call = { timeout: ALIVE, retries: 0, ...(signal && { signal }) };
    await client.raw("/version", call).catch((error: unknown) => {
      // An API without this page answers all the same.
      if (!isApiError(error, "notFound") && !isApiError(error, "forbidden")) throw error;
    });
    const reflectors = this.#reflectors;
    if (!reflectors.isKnown("nodes")) {
      // Says at once what a reflector would retry silently: a missing right, or a selector that is not one.
      const selection = nodeSelector === undefined ? {} : { labelSelector: nodeSelector };
      await client.list(resources.nodes, { ...selection, limit: 1 }, call);
      if (!(await endsWithin(clock, FIRST_LISTS, reflectors.nodes.synced(), signal)))
        throw new Error("the nodes have not been listed yet");
    }
    const isPending = (kind: ClusterKind) => reflectors.isPending(kind);
    const answered = reflectors.kinds
      .filter(isPending)
      .map(async (kind) => Promise.race([reflectors.of(kind).synced(), this.#refused[kind].promise]));
    await endsWithin(clock, ALIVE, Promise.all(answered), signal);
    const objects = reflectors.objects(clock.now());
    return { ...objects, now: clusterTime(objects.twins, objects.now), pending: reflectors.kinds.filter(isPending) };
  }
}
