import {
  apiGroup,
  type Container,
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  type Pod,
  type PowerEndpoint,
  powerEndpointKind,
  readAs,
} from "../../core/api/index.ts";
import { type ClusterKind, type ClusterObjects, resourceNames } from "../../core/report/index.ts";
import { milliseconds, type RandomSource } from "../../core/units/index.ts";
import { type Clock, endsWithin } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, Reflector, resources } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { clusterTime, errorMessageOf, readInstallation } from "./cluster-reader.ts";

export interface WatchedClusterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** Which nodes; all by default. */
  readonly nodeSelector?: string | undefined;
}

/** Kinds that are not known are empty, and named. Pods are undefined then: no pods is not the same as unknown pods. */
export interface WatchedObjects extends ClusterObjects {
  readonly notListed: readonly ClusterKind[];
  readonly pending: readonly ClusterKind[];
}

const FIRST_LISTS = milliseconds(30_000);
const ALIVE = milliseconds(5000);
const LIVE_PODS = { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } as const;

/**
 * The objects of `joulie top` and of commands with --watch, kept up to date by watches: lists of a large cluster every few seconds would load the API server. Nodes
 * must be readable; the other kinds may be missing or forbidden.
 */
export class WatchedCluster {
  readonly #options: WatchedClusterOptions;
  /** Resolved when the API server refuses a kind or does not have it: reading does not wait for it. */
  readonly #refused: Readonly<Record<ClusterKind, PromiseWithResolvers<void>>>;
  readonly #reflectors: {
    readonly nodes: Reflector<KubeObject & Node>;
    readonly twins: Reflector<NodeTwin>;
    readonly hardware: Reflector<NodeHardware>;
    readonly profiles: Reflector<NodePowerProfile>;
    readonly endpoints: Reflector<PowerEndpoint>;
    readonly pods: Reflector<Pod>;
  };

  constructor(options: WatchedClusterOptions) {
    this.#options = options;
    const { client, clock, random, log, nodeSelector } = options;
    this.#refused = {
      nodes: Promise.withResolvers(),
      twins: Promise.withResolvers(),
      hardware: Promise.withResolvers(),
      profiles: Promise.withResolvers(),
      endpoints: Promise.withResolvers(),
      pods: Promise.withResolvers(),
    };
    const of = (kind: ClusterKind) => {
      const { resolve } = this.#refused[kind];
      return { client, clock, random, log, onForbidden: resolve, onMissing: resolve };
    };
    const selection = selectionOf(nodeSelector);
    this.#reflectors = {
      nodes: new Reflector({ ...of("nodes"), resource: resources.nodes, selection, project: slimNode }),
      twins: new Reflector({ ...of("twins"), resource: resources.nodeTwins, project: readAs(nodeTwinKind) }),
      hardware: new Reflector({
        ...of("hardware"),
        resource: resources.nodeHardwares,
        project: readAs(nodeHardwareKind),
      }),
      profiles: new Reflector({
        ...of("profiles"),
        resource: resources.nodePowerProfiles,
        project: readAs(nodePowerProfileKind),
      }),
      endpoints: new Reflector({
        ...of("endpoints"),
        resource: resources.powerEndpoints,
        project: readAs(powerEndpointKind),
      }),
      pods: new Reflector({ ...of("pods"), resource: resources.pods, selection: LIVE_PODS, project: slimPod }),
    };
  }

  start(): void {
    for (const reflector of Object.values(this.#reflectors)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflectors).map(async (reflector) => reflector.stop()));
  }

  get #kinds(): readonly ClusterKind[] {
    return Object.keys(this.#reflectors) as ClusterKind[];
  }

  #isPending(kind: ClusterKind): boolean {
    return !this.#reflectors[kind].hasSynced && !this.#reflectors[kind].isRefused;
  }

  /** The same with what is installed, which is little and read each time. */
  async readAll(namespace: string, signal?: AbortSignal): Promise<ClusterObjects> {
    const objects = await this.read(signal);
    const { client, clock } = this.#options;
    const unreadable: string[] = [];
    const installed = await readInstallation(client, namespace, clock.now(), (part, error) =>
      unreadable.push(`${part}: ${errorMessageOf(error)}`),
    );
    const isMissing = (kind: ClusterKind) => this.#reflectors[kind].missingDefinition !== undefined;
    for (const kind of this.#kinds) {
      if (this.#isPending(kind)) unreadable.push(`${resourceNames[kind]}: they are not read yet`);
      if (this.#reflectors[kind].isForbidden)
        unreadable.push(`${resourceNames[kind]}: you may not list and watch them`);
    }
    const missingKinds = this.#kinds
      .filter(isMissing)
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
    const { nodes, twins, hardware, profiles, endpoints, pods } = this.#reflectors;
    if (!nodes.hasSynced || nodes.isRefused) {
      // Says at once what a reflector would retry silently: a missing right, or a selector that is not one.
      await client.list(resources.nodes, { ...selectionOf(nodeSelector), limit: 1 }, call);
      if (!(await endsWithin(clock, FIRST_LISTS, nodes.synced(), signal)))
        throw new Error("the nodes have not been listed yet");
    }
    const kinds = this.#kinds;
    const waiting = kinds.filter((kind) => this.#isPending(kind));
    const answered = waiting.map(async (kind) =>
      Promise.race([this.#reflectors[kind].synced(), this.#refused[kind].promise]),
    );
    await endsWithin(clock, ALIVE, Promise.all(answered), signal);
    const pending = kinds.filter((kind) => this.#isPending(kind));
    const notListed = kinds.filter((kind) => this.#isPending(kind) || this.#reflectors[kind].isRefused);
    const known = <Value>(kind: ClusterKind, { store }: Reflector<Value>): ReadonlyMap<string, Value> =>
      new Map(notListed.includes(kind) ? [] : store.entries());
    const published = known("twins", twins);
    return {
      now: clusterTime(published, clock.now()),
      nodes: Array.from(nodes.store.values()),
      twins: published,
      hardware: known("hardware", hardware),
      profiles: known("profiles", profiles),
      endpoints: known("endpoints", endpoints),
      pods: notListed.includes("pods") ? undefined : Array.from(pods.store.values()),
      notListed,
      pending,
    };
  }
}

const selectionOf = (nodeSelector: string | undefined) =>
  nodeSelector === undefined ? {} : { labelSelector: nodeSelector };

/** Without what no report reads: names of images are most of a Node, 100 MB in a large cluster. */
function slimNode(object: KubeObject): KubeObject & Node {
  const { status, ...node } = object as KubeObject & { readonly status?: Readonly<Record<string, unknown>> };
  const { images: _, volumesAttached: __, volumesInUse: ___, ...rest } = status ?? {};
  return { ...node, status: rest };
}

/** Without what no report reads: whole pods of a large cluster would take 100 MB. */
function slimPod(object: KubeObject): Pod {
  const { metadata, spec, status } = object as unknown as Pod;
  const slim = ({ resources: asked, restartPolicy }: Container): Container => ({
    ...(asked && { resources: asked }),
    ...(restartPolicy && { restartPolicy }),
  });
  const { containers, initContainers, ...rest } = spec ?? {};
  return {
    metadata,
    spec: {
      ...rest,
      ...(containers && { containers: containers.map(slim) }),
      ...(initContainers && { initContainers: initContainers.map(slim) }),
    },
    ...(status?.phase !== undefined && { status: { phase: status.phase } }),
  };
}
