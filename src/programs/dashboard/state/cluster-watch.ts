import type { Node, NodeHardware, NodePowerProfile, NodeTwin, Pod, PowerEndpoint } from "../../../core/api/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import { type ClusterKind, type ClusterObjects, resourceNames } from "../../../core/report/index.ts";
import {
  type Instant,
  instant,
  isoTime,
  type Milliseconds,
  milliseconds,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type Change,
  type KubeClient,
  Reflector,
  type Resource,
  resources,
  unreadOf,
} from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { ClassName, Totals } from "../wire.ts";
import { ClassChangeLog, classChange } from "./class-changes.ts";
import { FleetTable } from "./fleet-table.ts";
import { classOf, hasExpired, rowOf } from "./node-row.ts";
import {
  boundNodeOf,
  livePods,
  type NodeProjection,
  nodeProjectionOf,
  type PodProjection,
  parseEndpoint,
  parseHardware,
  parseProfile,
  parseTwin,
  projectPod,
} from "./projections.ts";

export interface ClusterWatchOptions {
  readonly client: KubeClient;
  /** For calls. */
  readonly ioClock: Clock;
  /** For the times of decisions; may be scaled. */
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** How much faster `clock` runs than the API server's. */
  readonly speed: () => number;
  /** The power of a twin that the operator has not refreshed for longer is unknown. */
  readonly staleAfter: Milliseconds;
}

/** Everything that the API says about one node. */
export interface NodeObjects {
  readonly node: NodeProjection;
  /** Undefined as well for the twin of a former node of the same name. */
  readonly twin: NodeTwin | undefined;
  /** False if the API server refuses them, or they are not read yet. */
  readonly areTwinsKnown: boolean;
  readonly hardware: NodeHardware | undefined;
  readonly endpoint: PowerEndpoint | undefined;
  readonly profile: NodePowerProfile | undefined;
  /** Undefined until the pods are read. */
  readonly pods: readonly PodProjection[] | undefined;
}

const DECISIONS = 200;

/**
 * Watches the cluster and keeps the table of nodes up to date. Changes only mark nodes; `refresh` computes their rows, so that a
 * node with many changes costs no more than one. While the API is unreachable, the last state stays.
 */
export class ClusterWatch {
  readonly table = new FleetTable();
  readonly decisions = new ClassChangeLog(DECISIONS);
  readonly #clock: Clock;
  readonly #ioClock: Clock;
  readonly #speed: () => number;
  readonly #staleAfter: Milliseconds;
  readonly #changed = new Set<string>();
  readonly #classes = new Map<string, ClassName>();
  #pendingPods = 0;
  #lastKnown = "";
  readonly #reflectors: {
    readonly nodes: Reflector<NodeProjection>;
    readonly twins: Reflector<NodeTwin>;
    readonly hardware: Reflector<NodeHardware>;
    readonly profiles: Reflector<NodePowerProfile>;
    readonly endpoints: Reflector<PowerEndpoint>;
    readonly pods: Reflector<PodProjection, "node">;
  };

  constructor({ client, clock, ioClock, random, log, speed, staleAfter }: ClusterWatchOptions) {
    this.#clock = clock;
    this.#ioClock = ioClock;
    this.#speed = speed;
    this.#staleAfter = staleAfter;
    const of = (resource: Resource) => ({
      client,
      clock: ioClock,
      random,
      log,
      resource,
      onForbidden: () => log.warn({ kind: resource.kind }, "may not list this kind; showing the others"),
    });
    const onChange = (changes: readonly Change<unknown>[]) => {
      for (const { key } of changes) this.#changed.add(key);
    };
    this.#reflectors = {
      nodes: new Reflector({ ...of(resources.nodes), project: nodeProjectionOf, onChange }),
      twins: new Reflector({ ...of(resources.nodeTwins), project: parseTwin, onChange }),
      hardware: new Reflector({ ...of(resources.nodeHardwares), project: parseHardware, onChange }),
      profiles: new Reflector({ ...of(resources.nodePowerProfiles), project: parseProfile, onChange }),
      endpoints: new Reflector({ ...of(resources.powerEndpoints), project: parseEndpoint, onChange }),
      pods: new Reflector({
        ...of(resources.pods),
        selection: livePods,
        project: projectPod,
        indexes: { node: boundNodeOf },
        onChange: (changes) => this.#podsChanged(changes),
      }),
    };
  }

  start(): void {
    for (const reflector of Object.values(this.#reflectors)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflectors).map(async (reflector) => reflector.stop()));
  }

  /** The kinds whose first list is awaited. Nodes are needed; other kinds may be forbidden or not installed. */
  get unsynced(): readonly string[] {
    const awaited = Object.entries(this.#reflectors).filter(
      ([kind, { isForbidden, missingDefinition }]) =>
        kind === "nodes" || (!isForbidden && missingDefinition === undefined),
    );
    return unreadOf(Object.fromEntries(awaited));
  }

  /** The names of the kinds that the API server does not have, and of those that the dashboard may not list. */
  get refused(): { readonly missing: readonly string[]; readonly forbidden: readonly string[] } {
    const names = (isMeant: (kind: ClusterKind) => boolean) =>
      this.#kinds.filter(isMeant).map((kind) => resourceNames[kind]);
    return {
      missing: names((kind) => this.#reflectors[kind].missingDefinition !== undefined),
      forbidden: names((kind) => this.#reflectors[kind].isForbidden),
    };
  }

  /** Time since the API server was last heard, of the resource for which it is longest. A kind that it refuses is not silence. */
  get silence(): Milliseconds | undefined {
    const silences = this.#kinds.flatMap((kind) =>
      this.#reflectors[kind].isRefused ? [] : (this.#reflectors[kind].silence ?? []),
    );
    return silences.length === 0 ? undefined : milliseconds(Math.max(...silences));
  }

  totals(savedWatts: number | null): Totals {
    const isKnown = this.#isKnown("pods");
    return this.table.totals({
      pods: isKnown ? this.#reflectors.pods.store.size : null,
      pendingPods: isKnown ? this.#pendingPods : null,
      savedWatts,
      freshness: { now: this.#clock.now(), staleAfter: this.#staleAfter },
    });
  }

  get #kinds(): readonly ClusterKind[] {
    return Object.keys(this.#reflectors) as ClusterKind[];
  }

  #isKnown(kind: ClusterKind): boolean {
    return this.#reflectors[kind].hasSynced && !this.#reflectors[kind].isRefused;
  }

  /** The objects for reports. */
  objects(now: Instant): ClusterObjects {
    const { nodes, twins, hardware, profiles, endpoints, pods } = this.#reflectors;
    const isScaled = this.#speed() !== 1;
    const known = <Value>(kind: ClusterKind, { store }: Reflector<Value>): ReadonlyMap<string, Value> =>
      new Map(this.#isKnown(kind) ? store.entries() : []);
    return {
      now,
      nodes: Array.from(nodes.store.values(), (node) => (isScaled ? this.#inClusterTime(node, now) : node)),
      twins: known("twins", twins),
      hardware: known("hardware", hardware),
      profiles: known("profiles", profiles),
      endpoints: known("endpoints", endpoints),
      pods: this.#isKnown("pods")
        ? Array.from(pods.store.values(), ({ pod }) => (isScaled ? this.#inClusterTime(pod, now) : pod))
        : undefined,
      notListed: this.#kinds.filter((kind) => !this.#isKnown(kind)),
    };
  }

  node(name: string): NodeObjects | undefined {
    const node = this.#reflectors.nodes.store.getByKey(name);
    return node && this.#factsOf(node);
  }

  /** Computes the rows of all nodes that changed since the last call. */
  refresh(): void {
    const at = this.#clock.now();
    // Before the first lists are complete, and while twins are refused, a class would appear to change from or to unknown.
    const isComplete = this.unsynced.length === 0 && !this.#reflectors.twins.isRefused;
    const freshness = { now: at, staleAfter: this.#staleAfter };
    // Once a kind is read or refused, also nodes without its objects change: their pods from unknown to 0.
    const known = this.#kinds.filter((kind) => this.#isKnown(kind)).join();
    const isNew = known !== this.#lastKnown;
    this.#lastKnown = known;
    for (const [name, row] of this.table.rows()) if (isNew || hasExpired(row, freshness)) this.#changed.add(name);
    for (const name of this.#changed) {
      const facts = this.node(name);
      if (facts === undefined) {
        this.table.remove(name);
        this.#classes.delete(name);
        continue;
      }
      const { node, twin, pods } = facts;
      const row = rowOf(node, twin, pods, freshness);
      this.table.set(name, node.metadata.labels, row);
      const to = classOf(twin);
      const performancePods = row.performancePods ?? undefined;
      const change = isComplete && classChange(name, this.#classes.get(name), to, { at, twin, performancePods });
      if (change) this.decisions.add(change);
      if (isComplete) this.#classes.set(name, to);
    }
    // Nodes read before all lists were complete need their class remembered.
    if (isComplete || this.#reflectors.twins.isRefused) this.#changed.clear();
  }

  /** The API server stamps objects with its own clock, also where the cluster's time is accelerated. */
  #inClusterTime<Stamped extends Node | Pod>(object: Stamped, now: Instant): Stamped {
    const { metadata } = object;
    const age = this.#ioClock.now() - Date.parse(metadata.creationTimestamp ?? "");
    if (Number.isNaN(age)) return object;
    return { ...object, metadata: { ...metadata, creationTimestamp: isoTime(instant(now - age * this.#speed())) } };
  }

  #factsOf(node: NodeProjection): NodeObjects {
    const { name } = node.metadata;
    const { twins, hardware, profiles, endpoints, pods } = this.#reflectors;
    const found = <Value>(kind: ClusterKind, { store }: Reflector<Value>): Value | undefined =>
      this.#isKnown(kind) ? store.getByKey(name) : undefined;
    const twin = found("twins", twins);
    return {
      node,
      twin: twin !== undefined && isTwinOf(node, twin) ? twin : undefined,
      areTwinsKnown: this.#isKnown("twins"),
      hardware: found("hardware", hardware),
      endpoint: found("endpoints", endpoints),
      profile: found("profiles", profiles),
      pods: this.#isKnown("pods") ? [...pods.store.by("node", name)] : undefined,
    };
  }

  #podsChanged(changes: readonly Change<PodProjection>[]): void {
    for (const change of changes) {
      const old = change.type === "added" ? undefined : change.old;
      const now = change.type === "deleted" ? undefined : change.new;
      const nodes = [old, now].map((pod) => pod && boundNodeOf(pod));
      this.#pendingPods += Number(now !== undefined && nodes[1] === undefined);
      this.#pendingPods -= Number(old !== undefined && nodes[0] === undefined);
      for (const node of nodes) if (node !== undefined) this.#changed.add(node);
    }
  }
}
