import { isDeepStrictEqual } from "node:util";
import type { Labels, NodeHardwareStatus, NodeTwinStatus } from "../../../core/api/index.ts";
import { type Catalogue, type HardwareView, hardwareView } from "../../../core/inventory/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import {
  type CandidateNode,
  readTwin,
  rejectionCode,
  ScoringKernel,
  type ScoringSettings,
  type TwinState,
} from "../../../core/scoring/index.ts";
import { formatDuration, type Milliseconds, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type Change, type KubeClient, Reflector, resources, unreadOf } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { ChangeQueue } from "./change-queue.ts";
import { nodeProjection, type WatchedNode, type WatchedTwin, watchedHardware, watchedTwin } from "./projections.ts";
import { TwinRefreshMonitor } from "./twin-refresh-monitor.ts";

/** All that is known of a node. Replaced and never changed: who keeps one keeps what was known at that moment. */
export interface KnownNode extends CandidateNode {
  readonly name: string;
  readonly labels: Labels;
  readonly hardware: HardwareView;
  /** What scoring reads of `status`. */
  readonly twin: TwinState | undefined;
  readonly status: NodeTwinStatus | undefined;
}

export interface ClusterCacheOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly settings: ScoringSettings;
  readonly catalogue: Catalogue;
  /** A watch that was silent for so long is asked about, so that nothing is older while the API answers. */
  readonly cacheTtl: Milliseconds;
  /** A Node is gone; its slot may be another's from now on. */
  readonly onLeave: (name: string, slot: number) => void;
}

/** Small pages: a list that comes anew must not hold up a request for longer than a few milliseconds. */
const PAGE_SIZE = 100;

/**
 * The cluster as the extender knows it, kept up to date by watches: requests are answered from memory alone. A node is known
 * while its Node is; what else carries its name counts only that long. Without the API the last state stays.
 */
export class ClusterCache {
  readonly kernel: ScoringKernel;
  readonly #known: (KnownNode | undefined)[] = [];
  /** Why each slot's node is refused to performance pods, by its twin or else by the label in the cache: 0 where it is not. */
  #rejections = new Uint8Array(64);
  readonly #catalogue: Catalogue;
  readonly #nodeLabels: ScoringSettings["nodeLabels"];
  readonly #refreshes: TwinRefreshMonitor;
  readonly #backlog: ChangeQueue;
  #wasWhole = false;
  readonly #onLeave: ClusterCacheOptions["onLeave"];
  readonly #reflected: {
    readonly nodes: Reflector<WatchedNode>;
    readonly twins: Reflector<WatchedTwin>;
    readonly hardware: Reflector<NodeHardwareStatus>;
  };
  #names: (string | undefined)[] = [];
  #namesAreKept = false;

  constructor(options: ClusterCacheOptions) {
    const { client, clock, random, log, settings, catalogue, cacheTtl, onLeave } = options;
    this.kernel = new ScoringKernel(settings);
    this.#catalogue = catalogue;
    this.#nodeLabels = settings.nodeLabels;
    this.#refreshes = new TwinRefreshMonitor(settings.stalenessThreshold, (gap) =>
      log.warn(
        {
          refreshedEvery: formatDuration(gap),
          TWIN_STALENESS_THRESHOLD: formatDuration(settings.stalenessThreshold),
        },
        "NodeTwins are refreshed more slowly than they go stale here: set the operator's TWIN_HEARTBEAT below TWIN_STALENESS_THRESHOLD",
      ),
    );
    this.#onLeave = onLeave;
    this.#backlog = new ChangeQueue(clock, (err) => log.error({ err }, "a change could not be taken over"));
    const base = { client, clock, random, log, idleLimit: cacheTtl, pageSize: PAGE_SIZE };
    this.#reflected = {
      nodes: new Reflector({
        ...base,
        resource: resources.nodes,
        project: nodeProjection(Object.values(settings.nodeLabels)),
        onChange: (changes) => this.#take(changes, (change) => this.#nodeChanged(change)),
      }),
      twins: new Reflector({
        ...base,
        resource: resources.nodeTwins,
        project: watchedTwin,
        onChange: (changes) => {
          for (const change of changes) this.#refreshed(change);
          this.#take(changes, ({ key }) => this.#update(key, (node) => this.#twinPart(node)));
        },
      }),
      hardware: new Reflector({
        ...base,
        resource: resources.nodeHardwares,
        project: watchedHardware,
        onChange: (changes) => this.#take(changes, ({ key }) => this.#update(key, (node) => this.#hardwarePart(node))),
      }),
    };
  }

  start(): void {
    for (const reflector of Object.values(this.#reflected)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflected).map(async (reflector) => reflector.stop()));
    this.#backlog.clear();
  }

  /** What was never read yet; nothing once all was read, whatever becomes of the API. */
  get unsynced(): readonly string[] {
    if (this.#wasWhole) return [];
    const unread = unreadOf(this.#reflected);
    this.#wasWhole = unread.length === 0 && this.#backlog.isIdle;
    return unread.length > 0 || this.#wasWhole ? unread : ["the rest of the lists"];
  }

  /** Since when the API has said nothing about the kind it has been silent about for longest. */
  get silence(): Milliseconds | undefined {
    const { nodes, twins, hardware } = this.#reflected;
    const silences = [nodes, twins, hardware].flatMap(({ silence }) => silence ?? []);
    return silences.length === 0 ? undefined : milliseconds(Math.max(...silences));
  }

  /** The position of the reason in `rejections`; 0 where performance pods may run there. */
  rejection(slot: number): number {
    return this.#rejections[slot] ?? 0;
  }

  at(slot: number): KnownNode | undefined {
    return this.#known[slot];
  }

  node(name: string): KnownNode | undefined {
    return this.#known[this.kernel.slotOf(name)];
  }

  /** Names by slot as they are now. The list given out stays as it is; the next change of a slot makes a new one. */
  snapshotNames(): readonly (string | undefined)[] {
    this.#namesAreKept = true;
    return this.#names;
  }

  /** In order. A twin may so be looked at later than the store shows it, and never earlier. */
  #take<Value>(changes: readonly Change<Value>[], act: (change: Change<Value>) => void): void {
    this.#backlog.add(changes.map((change) => () => act(change)));
  }

  #refreshed(change: Change<WatchedTwin>): void {
    if (change.type === "deleted") this.#refreshes.forget(change.key);
    if (change.type === "updated")
      this.#refreshes.observe(change.key, change.old.status?.lastUpdated, change.new.status?.lastUpdated);
  }

  #nodeChanged(change: Change<WatchedNode>): void {
    if (change.type === "deleted") this.#leave(change.key);
    else if (change.type === "added" || !isDeepStrictEqual(change.old, change.new)) this.#join(change.new);
  }

  #join(node: WatchedNode): void {
    const { name, labels } = node.metadata;
    this.kernel.upsertLabels(name, labels);
    const slot = this.kernel.slotOf(name);
    this.#name(slot, name);
    this.#put(slot, { name, labels, ...this.#hardwarePart(node), ...this.#twinPart(node) });
  }

  #leave(name: string): void {
    const slot = this.kernel.slotOf(name);
    if (slot < 0) return;
    this.kernel.remove(name);
    this.#put(slot, undefined);
    this.#onLeave(name, slot);
  }

  #update(name: string, partOf: (node: WatchedNode) => Partial<KnownNode>): void {
    const node = this.#reflected.nodes.store.getByKey(name);
    const slot = this.kernel.slotOf(name);
    const known = this.#known[slot];
    // A twin may come before its Node; with the Node it is looked for again.
    if (node !== undefined && known !== undefined) this.#put(slot, { ...known, ...partOf(node) });
  }

  #put(slot: number, node: KnownNode | undefined): void {
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

  #hardwarePart(node: WatchedNode): Pick<KnownNode, "hardware"> {
    const { name } = node.metadata;
    const hardware = hardwareView(node, this.#reflected.hardware.store.getByKey(name), { catalogue: this.#catalogue });
    this.kernel.upsertHardware(name, hardware);
    return { hardware };
  }

  #twinPart(node: WatchedNode): Pick<KnownNode, "twin" | "status"> {
    const { name } = node.metadata;
    const twin = this.#reflected.twins.store.getByKey(name);
    const status = twin !== undefined && isTwinOf(node, twin) ? twin.status : undefined;
    this.kernel.upsertTwin(name, status);
    return { status, twin: status && readTwin(status) };
  }

  #name(slot: number, name: string): void {
    if (this.#names[slot] === name) return;
    if (this.#namesAreKept) {
      this.#names = this.#names.slice();
      this.#namesAreKept = false;
    }
    this.#names[slot] = name;
  }
}
