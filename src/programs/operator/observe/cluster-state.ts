import {
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  type Pod,
} from "../../../core/api/index.ts";
import { type PodSummary, podSummaryOf } from "../../../core/demand/index.ts";
import type { ClusterSnapshot, SnapshotNode } from "../../../core/planning/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import { elapsed, type MonotonicInstant, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type Change,
  type KubeClient,
  type KubeObject,
  Reflector,
  type ReflectorOptions,
  resources,
  unreadOf,
} from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { PodOfUnknownClass } from "../events/unknown-class-events.ts";
import { LatestObjects } from "./latest-objects.ts";
import { clusterNodeOf, readAs } from "./projection.ts";
import { hardwareChangeMatters, nodeChangeMatters, podChangeMatters, twinChangeMatters } from "./relevant-changes.ts";

export interface ClusterStateOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly powerProfileLabel: string;
  /** Something changed that may change a plan. */
  readonly onRelevantChange: () => void;
  /** A pod's class annotation says neither performance nor standard. */
  readonly onUnknownClass: (text: string) => void;
}

/** Servers send a bookmark a minute: a healthy watch is never silent for so long, so that nothing is asked for in vain. */
const IDLE_LIMIT = milliseconds(90_000);
/** By then a silent watch has been asked about and opened anew; if not, what it showed may be history. */
const STALE_AFTER = milliseconds(120_000);
/** A Node that does not come for so long does not come: longer than its watch may be behind. */
const AWAITED_FOR = milliseconds(180_000);
/** How long the first pass waits for what it can do without. */
const GRACE = milliseconds(15_000);

/** The names of a pod are kept only where somebody has to be told of it. */
interface WatchedPod extends PodSummary {
  readonly misspelt?: PodOfUnknownClass;
}

/** The cluster as this operator knows it, kept up to date by watches. */
export class ClusterState implements ClusterSnapshot {
  readonly #clock: Clock;
  readonly #onNews: () => void;
  readonly #reflected: {
    readonly nodes: Reflector<SnapshotNode>;
    readonly pods: Reflector<WatchedPod, "node" | "misspelt">;
    readonly hardware: Reflector<NodeHardware>;
    readonly twins: Reflector<NodeTwin>;
    readonly profiles: Reflector<NodePowerProfile>;
  };
  readonly #nodes: LatestObjects<SnapshotNode>;
  readonly #twins: LatestObjects<NodeTwin>;
  readonly #profiles: LatestObjects<NodePowerProfile>;
  readonly #podsVersions = new Map<string, number>();
  #allPodsVersion = 0;
  /** Names with objects but no Node, and since when; undefined where the Node was seen to go. */
  readonly #nodeless = new Map<string, MonotonicInstant | undefined>();
  /** A pod as the server sent it, as the plan sees it. */
  readonly podOf: (object: KubeObject) => PodSummary;

  constructor(options: ClusterStateOptions) {
    const { client, clock, random, log, powerProfileLabel, onRelevantChange: onNews, onUnknownClass } = options;
    this.#clock = clock;
    this.#onNews = onNews;
    this.podOf = (object) => podSummaryOf(object as unknown as Pod, powerProfileLabel);
    const base = { client, clock, random, log, idleLimit: IDLE_LIMIT };
    const reflect = <Value, Index extends string = never>(
      own: Pick<ReflectorOptions<Value, Index>, "resource" | "project" | "indexes">,
      matters: (change: Change<Value>) => boolean,
    ) =>
      new Reflector<Value, Index>({
        ...base,
        ...own,
        onChange: (changes) => {
          // All of them are looked at: `matters` also forgets what is gone.
          if (changes.filter(matters).length > 0) onNews();
        },
      });
    this.#reflected = {
      nodes: reflect({ resource: resources.nodes, project: clusterNodeOf }, (change) => {
        if (change.type === "deleted") {
          this.#nodes.recordDeletion(change.key, change.old.metadata.uid);
          // Whoever remembers something of its pods remembers the Node they were on, too.
          this.#podsVersions.delete(change.key);
          if (this.#isRecorded(change.key)) this.#nodeless.set(change.key, undefined);
        } else this.#nodeless.delete(change.key);
        return nodeChangeMatters(change) && !(change.type === "updated" && this.#nodes.isEcho(change.key, change.new));
      }),
      pods: reflect<WatchedPod, "node" | "misspelt">(
        {
          resource: resources.pods,
          project: (object) => {
            const pod = this.podOf(object);
            const { unrecognisedClass: text } = pod;
            if (text === undefined) return pod;
            onUnknownClass(text);
            const { namespace = "", name, uid = "" } = object.metadata;
            return { ...pod, misspelt: { namespace, name, uid, text } };
          },
          indexes: { node: (pod) => pod.node, misspelt: (pod) => pod.misspelt && "any" },
        },
        (change) => {
          this.#allPodsVersion++;
          if (change.type !== "added") this.#podsChanged(change.old.node);
          if (change.type !== "deleted") this.#podsChanged(change.new.node);
          return podChangeMatters(change);
        },
      ),
      hardware: reflect({ resource: resources.nodeHardwares, project: readAs(nodeHardwareKind) }, (change) => {
        if (change.type === "deleted") this.#unrecorded(change.key);
        return hardwareChangeMatters(change);
      }),
      twins: reflect({ resource: resources.nodeTwins, project: readAs(nodeTwinKind) }, (change) => {
        if (change.type === "deleted") {
          this.#twins.recordDeletion(change.key, change.old.metadata.uid);
          this.#unrecorded(change.key);
        }
        return twinChangeMatters(change) && !(change.type !== "deleted" && this.#twins.isEcho(change.key, change.new));
      }),
      profiles: reflect({ resource: resources.nodePowerProfiles, project: readAs(nodePowerProfileKind) }, (change) => {
        if (change.type === "deleted") {
          this.#profiles.recordDeletion(change.key, change.old.metadata.uid);
          this.#unrecorded(change.key);
        }
        return !(change.type !== "deleted" && this.#profiles.isEcho(change.key, change.new));
      }),
    };
    this.#nodes = new LatestObjects(this.#reflected.nodes.store, clock);
    this.#twins = new LatestObjects(this.#reflected.twins.store, clock);
    this.#profiles = new LatestObjects(this.#reflected.profiles.store, clock);
  }

  start(): void {
    for (const reflector of Object.values(this.#reflected)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflected).map(async (reflector) => reflector.stop()));
  }

  /**
   * Nothing is decided before nodes, twins and pins are known. Pods and hardware are waited for as well, but not for ever:
   * until they are there no node goes down, while what labels say of hardware has to do.
   */
  async synced(signal: AbortSignal): Promise<void> {
    const { nodes, twins, profiles, pods, hardware } = this.#reflected;
    await Promise.all([nodes, twins, profiles].map(async (reflector) => reflector.synced(signal)));
    const enough = new AbortController();
    const timer = this.#clock.after(GRACE, () => enough.abort());
    const either = AbortSignal.any([signal, enough.signal]);
    await Promise.allSettled([pods, hardware].map(async (reflector) => reflector.synced(either)));
    timer.cancel();
    signal.throwIfAborted();
  }

  /** What is not known yet, for /readyz. */
  get missing(): readonly string[] {
    return unreadOf(this.#reflected);
  }

  get current(): boolean {
    return this.outdated.length === 0;
  }

  /** Which lists are not surely as the server has them now. Each of them keeps nodes from going down. */
  get outdated(): readonly string[] {
    const { hardware, ...rest } = this.#reflected;
    const outdated = Object.entries(rest).flatMap(([name, reflector]) => (isCurrent(reflector) ? [] : [name]));
    // Hardware says which nodes are the densest: until it was read once, a node might go down only to come back.
    return hardware.hasSynced ? outdated : [...outdated, "hardware"];
  }

  get nodesCurrent(): boolean {
    return isCurrent(this.#reflected.nodes);
  }

  *nodes(): Iterable<SnapshotNode> {
    // Only what a watch has shown: an answer about a node that was deleted meanwhile makes none.
    for (const [name] of this.#reflected.nodes.store.entries()) {
      const node = this.#nodes.get(name);
      if (node !== undefined) yield node;
    }
  }

  node(name: string): SnapshotNode | undefined {
    return this.#reflected.nodes.store.getByKey(name) === undefined ? undefined : this.#nodes.get(name);
  }

  twin(name: string): NodeTwin | undefined {
    const [node, twin] = [this.node(name), this.#twins.get(name)];
    return node !== undefined && twin !== undefined && !isTwinOf(node, twin) ? undefined : twin;
  }

  hardware(name: string): NodeHardware | undefined {
    return this.#reflected.hardware.store.getByKey(name);
  }

  profile(name: string): NodePowerProfile | undefined {
    return this.#profiles.get(name);
  }

  pods(): Iterable<PodSummary> {
    return this.#reflected.pods.store.values();
  }

  podsOn(node: string): Iterable<PodSummary> {
    return this.#reflected.pods.store.by("node", node);
  }

  /** Pods whose class annotation names no class. */
  *podsOfUnknownClass(): Iterable<PodOfUnknownClass> {
    for (const { misspelt } of this.#reflected.pods.store.by("misspelt", "any"))
      if (misspelt !== undefined) yield misspelt;
  }

  podsVersion(node: string): number {
    return this.#podsVersions.get(node) ?? 0;
  }

  get allPodsVersion(): number {
    return this.#allPodsVersion;
  }

  *recorded(): Iterable<string> {
    yield* this.#twins.names();
    for (const [name] of this.#reflected.hardware.store.entries()) yield name;
    yield* this.#profiles.names();
  }

  isGone(name: string): boolean {
    if (this.node(name) !== undefined) return false;
    const now = this.#clock.monotonic();
    if (!this.#nodeless.has(name)) this.#nodeless.set(name, now);
    const since = this.#nodeless.get(name);
    return since === undefined || elapsed(since, now) >= AWAITED_FOR;
  }

  #isRecorded(name: string): boolean {
    return (this.#twins.get(name) ?? this.hardware(name) ?? this.profile(name)) !== undefined;
  }

  #unrecorded(name: string): void {
    if (!this.#isRecorded(name)) this.#nodeless.delete(name);
  }

  #podsChanged(node: string | undefined): void {
    // Pods outlive their Node; nobody remembers anything of the pods of a Node that is not there.
    if (node !== undefined && this.#reflected.nodes.store.getByKey(node) !== undefined)
      this.#podsVersions.set(node, this.podsVersion(node) + 1);
  }

  /** What somebody else changed shortly before is in the answer as well, and its watch event is taken for an echo of ours. */
  recordNodeResponse(object: KubeObject, written: Readonly<Record<string, string | null>>): void {
    const node = clusterNodeOf(object);
    const before = this.node(node.metadata.name);
    this.#nodes.recordResponse(node.metadata.name, node);
    if (before === undefined) return;
    const merged = Object.entries({ ...before.metadata.labels, ...written }).filter(([, value]) => value !== null);
    const expected = {
      ...before,
      metadata: { ...before.metadata, labels: Object.fromEntries(merged) },
    } as SnapshotNode;
    if (nodeChangeMatters({ type: "updated", key: node.metadata.name, old: expected, new: node })) this.#onNews();
  }

  recordTwinResponse(object: KubeObject, written: "spec" | "status"): void {
    const twin = readAs(nodeTwinKind)(object);
    const { name } = twin.metadata;
    const before = this.twin(name);
    this.#twins.recordResponse(name, twin);
    if (before === undefined) return;
    // The half that we did not write is as it was, or somebody else has changed it.
    const expected = written === "spec" ? { ...twin, status: before.status } : { ...twin, spec: before.spec };
    if (twinChangeMatters({ type: "updated", key: name, old: expected, new: twin })) this.#onNews();
  }

  recordProfileResponse(object: KubeObject): void {
    const profile = readAs(nodePowerProfileKind)(object);
    this.#profiles.recordResponse(profile.metadata.name, profile);
  }

  /** The server does not have it, whatever was said before. */
  recordTwinDeletion(name: string): void {
    this.#twins.recordDeletion(name);
  }
}

const isCurrent = ({ hasSynced, silence }: Pick<Reflector<unknown>, "hasSynced" | "silence">): boolean =>
  hasSynced && silence !== undefined && silence <= STALE_AFTER;
