import {
  formatLabelSelector,
  type LabelSelector,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  readAs,
  type TelemetryProfile,
  telemetryProfileKind,
} from "../../../core/api/index.ts";
import { shardOf } from "../../../core/control/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import {
  type Change,
  type KubeObject,
  type Reflector,
  type ReflectorOptions,
  resources,
  unreadOf,
} from "../../../platform/kube/index.ts";
import {
  type NodeFacts,
  type NodeFactsSource,
  type ProjectedNode,
  projectNode,
  projectTwin,
  type WatchedObject,
} from "../watch/node-facts.ts";
import { reflectSpecs, type WatchOptions } from "../watch/single-node-watch.ts";

export interface ShardOptions extends WatchOptions {
  readonly selector: LabelSelector;
  readonly shards: number;
  readonly shard: number;
  /** Nodes in the journal, perhaps of other shards, on which limits of this agent may be in force. */
  readonly held: ReadonlySet<string>;
}

/** Watches the nodes of one shard: it watches whole kinds and keeps only the objects of this shard. */
export class ShardWatch implements NodeFactsSource {
  readonly #options: ShardOptions;
  readonly #nodes: Reflector<ProjectedNode>;
  readonly #twins: Reflector<NodeTwin>;
  readonly #profiles: Reflector<NodePowerProfile>;
  readonly #hardware: Reflector<NodeHardware>;
  readonly #routes: Reflector<TelemetryProfile, "node">;

  constructor(options: ShardOptions) {
    this.#options = options;
    this.#nodes = this.#reflect({
      resource: resources.nodes,
      project: this.#ifRelevant(projectNode),
      selection: { labelSelector: formatLabelSelector(options.selector) },
    });
    this.#twins = this.#reflect({
      resource: resources.nodeTwins,
      project: this.#ifRelevant((object) => projectTwin(readAs(nodeTwinKind)(object))),
    });
    this.#profiles = this.#reflect({
      resource: resources.nodePowerProfiles,
      project: this.#ifRelevant(readAs(nodePowerProfileKind)),
    });
    this.#hardware = this.#reflect({
      resource: resources.nodeHardwares,
      project: this.#ifRelevant(readAs(nodeHardwareKind)),
    });
    this.#routes = this.#reflect<TelemetryProfile, "node">(
      {
        resource: resources.telemetryProfiles,
        project: (object) => {
          const profile = readAs(telemetryProfileKind)(object);
          const target = targetOf(profile);
          const isKept = target === CLUSTER || (target !== undefined && this.#isRelevant(target));
          return isKept ? profile : undefined;
        },
        indexes: { node: targetOf },
      },
      (change) => {
        const target = targetOf(change.type === "deleted" ? change.old : change.new);
        return target === CLUSTER ? undefined : target;
      },
    );
  }

  names(): Iterable<string> {
    return Array.from(this.#nodes.store.entries(), ([name]) => name).filter((name) => this.ownsNode(name));
  }

  facts(name: string): NodeFacts {
    return {
      synced: this.notSynced.length === 0,
      node: this.#nodes.store.getByKey(name),
      twin: this.#twins.store.getByKey(name),
      profile: this.#profiles.store.getByKey(name),
      routes: [...this.#routes.store.by("node", name), ...this.#routes.store.by("node", CLUSTER)],
      hardware: this.#hardware.store.getByKey(name),
    };
  }

  ownsNode(name: string): boolean {
    return shardOf(name, this.#options.shards) === this.#options.shard;
  }

  get silence(): Milliseconds | undefined {
    return this.#twins.silence;
  }

  get notSynced(): readonly string[] {
    const unread = unreadOf(this.#reflectors);
    // The stop switch is an annotation of the namespace.
    if (!this.#options.stopSwitch.isKnown) unread.push("namespace");
    return unread;
  }

  start(): void {
    for (const reflector of Object.values(this.#reflectors)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflectors).map(async (reflector) => reflector.stop()));
  }

  get #reflectors() {
    return {
      nodes: this.#nodes,
      twins: this.#twins,
      profiles: this.#profiles,
      hardware: this.#hardware,
      "telemetry profiles": this.#routes,
    };
  }

  #isRelevant(name: string): boolean {
    return this.ownsNode(name) || this.#options.held.has(name);
  }

  /** Projects an object that is named after a node. An object of another shard's node is dropped. */
  #ifRelevant<Value>(project: (object: KubeObject) => Value): (object: KubeObject) => Value | undefined {
    return (object) => (this.#isRelevant(object.metadata.name) ? project(object) : undefined);
  }

  #reflect<Value extends WatchedObject, Index extends string = never>(
    options: Pick<ReflectorOptions<Value, Index>, "resource" | "project" | "selection" | "indexes">,
    nodeOf: (change: Change<Value>) => string | undefined = ({ key }) => key,
  ): Reflector<Value, Index> {
    return reflectSpecs(this.#options, options, nodeOf);
  }
}

/** Stands for all nodes as a target. It is no valid node name. */
const CLUSTER = "*";

/** The name of the node that a profile is for, or `CLUSTER`. */
const targetOf = ({ spec: { target } }: TelemetryProfile): string | undefined =>
  target.scope === "cluster" ? CLUSTER : target.nodeName;
