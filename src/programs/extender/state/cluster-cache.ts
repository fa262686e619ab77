import { isDeepStrictEqual } from "node:util";
import type { Labels, NodeHardwareStatus, NodeTwinStatus } from "../../../core/api/index.ts";
import { type Catalogue, type HardwareView, hardwareView } from "../../../core/inventory/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import {
  ASLEEP,
  type CandidateNode,
  EnergyKernel,
  type EnergySettings,
  rejectionCode,
  ScoringKernel,
  type ScoringSettings,
  type TwinState,
  twinStateOf,
} from "../../../core/scoring/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type Change, type KubeIo, Reflector, resources, unreadOf } from "../../../platform/kube/index.ts";
import { ChangeQueue } from "./change-queue.ts";
import { nodeProjection, type ScoredNode, type WatchedTwin, watchedHardware, watchedTwin } from "./projections.ts";

/** What the extender knows about a node. Immutable: a change replaces the object, so a reference is a snapshot. */
export interface KnownNode extends CandidateNode {
  readonly name: string;
  readonly labels: Labels;
  readonly hardware: HardwareView;
  readonly twin: TwinState | undefined;
  readonly status: NodeTwinStatus | undefined;
}

export interface ClusterCacheOptions extends KubeIo {
  readonly clock: Clock;
  readonly settings: ScoringSettings;
  readonly energy?: EnergySettings | undefined;
  readonly catalogue: Catalogue;
  /** After this long without watch events the watch is replaced, so that no data is older while the API responds. */
  readonly cacheTtl: Milliseconds;
  /** A Node was deleted; its slot may be reused from now on. */
  readonly onLeave: (name: string, slot: number) => void;
}

/** Small pages: a relist must not block a request for more than a few milliseconds. */
const PAGE_SIZE = 100;

/** The state that requests are answered from. A twin or hardware counts only while its Node exists. */
export class ClusterCache {
  readonly kernel: ScoringKernel;
  readonly energyKernel: EnergyKernel | undefined;
  readonly #known: (KnownNode | undefined)[] = [];
  /** Per slot: why performance pods are rejected, by the twin or else by the cached labels; 0 if they are accepted. */
  #rejections = new Uint8Array(64);
  #awaitedNodes = 0;
  readonly #catalogue: Catalogue;
  readonly #nodeLabels: ScoringSettings["nodeLabels"];
  readonly #changes: ChangeQueue;
  #wasSynced = false;
  readonly #onLeave: ClusterCacheOptions["onLeave"];
  readonly #reflectors: {
    readonly nodes: Reflector<ScoredNode>;
    readonly twins: Reflector<WatchedTwin>;
    readonly hardware: Reflector<NodeHardwareStatus>;
  };
  #names: (string | undefined)[] = [];
  #namesAreShared = false;

  constructor(options: ClusterCacheOptions) {
    const { client, clock, random, log, settings, energy, catalogue, cacheTtl, onLeave } = options;
    this.energyKernel = energy && new EnergyKernel(settings, energy);
    this.kernel = this.energyKernel ?? new ScoringKernel(settings);
    this.#catalogue = catalogue;
    this.#nodeLabels = settings.nodeLabels;
    this.#onLeave = onLeave;
    this.#changes = new ChangeQueue(clock, (err) => log.error({ err }, "cannot apply a watch event"));
    const base = { client, clock, random, log, idleLimit: cacheTtl, pageSize: PAGE_SIZE };
    this.#reflectors = {
      nodes: new Reflector({
        ...base,
        resource: resources.nodes,
        project: nodeProjection(Object.values(settings.nodeLabels)),
        onChange: (changes) => this.#enqueue(changes, (change) => this.#nodeChanged(change)),
      }),
      twins: new Reflector({
        ...base,
        resource: resources.nodeTwins,
        project: watchedTwin,
        onChange: (changes) => this.#enqueue(changes, ({ key }) => this.#update(key, (node) => this.#twinPart(node))),
      }),
      hardware: new Reflector({
        ...base,
        resource: resources.nodeHardwares,
        project: watchedHardware,
        onChange: (changes) =>
          this.#enqueue(changes, ({ key }) => this.#update(key, (node) => this.#hardwarePart(node))),
      }),
    };
  }

  start(): void {
    for (const reflector of Object.values(this.#reflectors)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflectors).map(async (reflector) => reflector.stop()));
    this.#changes.clear();
  }

  /** The resources whose first list is not complete. Empty from then on, also while the API is unreachable. */
  get unsynced(): readonly string[] {
    if (this.#wasSynced) return [];
    const unread = unreadOf(this.#reflectors);
    this.#wasSynced = unread.length === 0 && this.#changes.isIdle;
    return unread.length > 0 || this.#wasSynced ? unread : ["the last changes"];
  }

  /** Time since the last watch event, of the resource for which it is longest. */
  get silence(): Milliseconds | undefined {
    const { nodes, twins, hardware } = this.#reflectors;
    const silences = [nodes, twins, hardware].flatMap(({ silence }) => silence ?? []);
    return silences.length === 0 ? undefined : milliseconds(Math.max(...silences));
  }

  /** Index into `rejections`; 0 if standard pods may run on the node: only a sleeping node rejects them. */
  standardRejection(slot: number): number {
    return this.#rejections[slot] === ASLEEP ? ASLEEP : 0;
  }

  /** Index into `rejections`; 0 if performance pods may run on the node. */
  rejection(slot: number): number {
    return this.#rejections[slot] ?? 0;
  }

  get awaitedNodes(): number {
    return this.#awaitedNodes;
  }

  at(slot: number): KnownNode | undefined {
    return this.#known[slot];
  }

  /** The current names by slot. The returned list never changes: the next change of a slot copies it. */
  snapshotNames(): readonly (string | undefined)[] {
    this.#namesAreShared = true;
    return this.#names;
  }

  /** Applies changes in order. The cache may lag behind the reflector's store, never the reverse. */
  #enqueue<Value>(changes: readonly Change<Value>[], apply: (change: Change<Value>) => void): void {
    this.#changes.add(changes.map((change) => () => apply(change)));
  }

  #nodeChanged(change: Change<ScoredNode>): void {
    if (change.type === "deleted") this.#removeNode(change.key);
    else if (change.type === "added" || !isDeepStrictEqual(change.old, change.new)) this.#addOrUpdateNode(change.new);
  }

  #addOrUpdateNode(node: ScoredNode): void {
    const { name, labels } = node.metadata;
    this.kernel.upsertLabels(name, labels);
    const slot = this.kernel.slotOf(name);
    this.#setName(slot, name);
    this.#put(slot, { name, labels, ...this.#hardwarePart(node), ...this.#twinPart(node) });
  }

  #removeNode(name: string): void {
    const slot = this.kernel.slotOf(name);
    if (slot < 0) return;
    this.kernel.remove(name);
    this.#put(slot, undefined);
    this.#onLeave(name, slot);
  }

  #update(name: string, partOf: (node: ScoredNode) => Partial<KnownNode>): void {
    const node = this.#reflectors.nodes.store.getByKey(name);
    const slot = this.kernel.slotOf(name);
    const known = this.#known[slot];
    // A twin may arrive before its Node; adding the Node reads the twin from the store.
    if (node !== undefined && known !== undefined) this.#put(slot, { ...known, ...partOf(node) });
  }

  #put(slot: number, node: KnownNode | undefined): void {
    if (this.#known[slot]?.twin?.awaitedBy !== undefined) this.#awaitedNodes--;
    if (node?.twin?.awaitedBy !== undefined) this.#awaitedNodes++;
    this.#known[slot] = node;
    if (slot >= this.#rejections.length) {
      const longer = new Uint8Array(slot * 2);
      longer.set(this.#rejections);
      this.#rejections = longer;
    }
    const { powerProfile, draining } = this.#nodeLabels;
    this.#rejections[slot] = rejectionCode(
      "performance",
      node?.twin?.schedulableClass,
      node?.labels[powerProfile],
      node?.labels[draining],
    );
  }

  #hardwarePart(node: ScoredNode): Pick<KnownNode, "hardware"> {
    const { name } = node.metadata;
    const hardware = hardwareView(node, this.#reflectors.hardware.store.getByKey(name), { catalogue: this.#catalogue });
    this.kernel.upsertHardware(name, hardware);
    return { hardware };
  }

  #twinPart(node: ScoredNode): Pick<KnownNode, "twin" | "status"> {
    const { name } = node.metadata;
    const twin = this.#reflectors.twins.store.getByKey(name);
    const status = twin !== undefined && isTwinOf(node, twin) ? twin.status : undefined;
    this.kernel.upsertTwin(name, status);
    return { status, twin: status && twinStateOf(status) };
  }

  #setName(slot: number, name: string): void {
    if (this.#names[slot] === name) return;
    if (this.#namesAreShared) {
      this.#names = this.#names.slice();
      this.#namesAreShared = false;
    }
    this.#names[slot] = name;
  }
}
