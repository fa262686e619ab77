import {
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  type Pod,
  readAs,
} from "../../../core/api/index.ts";
import { isPlacedBy, type PodReference, PodShapes, type PodSummary, podSummaryOf } from "../../../core/demand/index.ts";
import type { ClusterSnapshot, SnapshotNode } from "../../../core/planning/index.ts";
import { ArrivalHistory, isTwinOf } from "../../../core/policy/index.ts";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../../platform/clock/index.ts";
import {
  type Change,
  type KubeIo,
  type KubeObject,
  Reflector,
  type ReflectorOptions,
  resources,
  unreadOf,
} from "../../../platform/kube/index.ts";
import type { PodOfUnknownClass } from "../events/unknown-class-events.ts";
import { LatestObjects } from "./latest-objects.ts";
import { clusterNodeOf } from "./projection.ts";
import {
  hardwareChangeMatters,
  isNewPendingPod,
  isReceipt,
  nodeChangeMatters,
  placedNode,
  podChangeMatters,
  twinChangeMatters,
} from "./relevant-changes.ts";
import { isCurrent, SleepState } from "./sleep-state.ts";

export interface ClusterStateOptions extends KubeIo {
  readonly clock: Clock;
  readonly powerProfileLabel: string;
  readonly sleeps?: boolean;
  /** The schedulers whose pods keep nodes awake; undefined = all. */
  readonly sleepSchedulers?: readonly string[] | undefined;
  /** Whether to read the requests, constraints and waits of pods. */
  readonly readsShapes: boolean;
  readonly onRelevantChange: () => void;
  /** Called for changes that pods wait for: a new pending performance pod, if shapes are read, or an agent that confirms caps. */
  readonly onUrgentChange: () => void;
  readonly onPlacedPod: (node: string) => void;
  readonly onUnknownClass: (text: string) => void;
}

/** An object without a Node counts as orphaned after this time, which is longer than the Node watch may lag. */
const ORPHANED_AFTER = milliseconds(180_000);
const OPTIONAL_LISTS_TIMEOUT = milliseconds(15_000);

/** The name of a pod is stored only if an Event may be about it. */
interface WatchedPod extends PodSummary {
  readonly invalidClass?: PodOfUnknownClass;
}

/** The cluster snapshot, kept up to date by watches and by the responses to writes. */
export class ClusterState implements ClusterSnapshot {
  readonly #clock: Clock;
  readonly #onRelevantChange: () => void;
  readonly #reflected: {
    readonly nodes: Reflector<SnapshotNode>;
    readonly pods: Reflector<WatchedPod, "node" | "invalidClass">;
    readonly hardware: Reflector<NodeHardware>;
    readonly twins: Reflector<NodeTwin>;
    readonly profiles: Reflector<NodePowerProfile>;
  };
  readonly #nodes: LatestObjects<SnapshotNode>;
  readonly #twins: LatestObjects<NodeTwin>;
  readonly #profiles: LatestObjects<NodePowerProfile>;
  /** Names with objects but without a Node, and since when; undefined if the Node was deleted. */
  readonly #withoutNode = new Map<string, MonotonicInstant | undefined>();
  /** Performance pods that arrived during the last day; empty unless shapes are read. */
  readonly arrivals = new ArrivalHistory();
  /** Undefined with SLEEP_MODE=off. */
  readonly sleep: SleepState | undefined;
  /** Summarises a pod for planning. */
  readonly podOf: (object: KubeObject) => PodSummary;

  constructor(options: ClusterStateOptions) {
    const { client, clock, random, log, powerProfileLabel, sleepSchedulers, onRelevantChange, onUnknownClass } =
      options;
    const sleeps = options.sleeps === true;
    const shapes = options.readsShapes ? new PodShapes({ allClasses: sleeps }) : undefined;
    this.#clock = clock;
    this.#onRelevantChange = onRelevantChange;
    this.podOf = (object) => podSummaryOf(object as unknown as Pod, powerProfileLabel, shapes);
    const base = { client, clock, random, log };
    this.sleep = sleeps ? new SleepState(base, onRelevantChange) : undefined;
    const reflect = <Value, Index extends string = never>(
      own: Pick<ReflectorOptions<Value, Index>, "resource" | "project" | "indexes">,
      matters: (change: Change<Value>) => boolean,
    ) =>
      new Reflector<Value, Index>({
        ...base,
        ...own,
        onChange: (changes) => {
          // `matters` must run for every change, because it also drops data of deleted objects.
          if (changes.filter(matters).length > 0) onRelevantChange();
        },
      });
    this.#reflected = {
      nodes: reflect({ resource: resources.nodes, project: clusterNodeOf }, (change) => {
        if (change.type === "deleted") {
          this.#nodes.recordDeletion(change.key, change.old.metadata.uid);
          if (this.#isRecorded(change.key)) this.#withoutNode.set(change.key, undefined);
        } else this.#withoutNode.delete(change.key);
        return nodeChangeMatters(change) && !(change.type === "updated" && this.#nodes.isEcho(change.key, change.new));
      }),
      pods: reflect<WatchedPod, "node" | "invalidClass">(
        {
          resource: resources.pods,
          project: (object) => {
            const pod = this.podOf(object);
            const { unrecognisedClass: text } = pod;
            const { namespace = "", name, uid = "" } = object.metadata;
            if (text === undefined) return pod;
            onUnknownClass(text);
            return { ...pod, invalidClass: { namespace, name, uid, text } };
          },
          indexes: { node: (pod) => pod.node, invalidClass: (pod) => pod.invalidClass && "any" },
        },
        (change) => {
          if (change.type === "added" && change.new.performanceSensitive) this.arrivals.record(change.new);
          if (change.type === "added" && change.new.ofNode !== true && isPlacedBy(sleepSchedulers, change.new))
            this.sleep?.arrivals.record(change.new);
          const placedOn = placedNode(change);
          if (placedOn !== undefined) options.onPlacedPod(placedOn);
          if (shapes !== undefined && isNewPendingPod(change, sleeps)) options.onUrgentChange();
          return podChangeMatters(change);
        },
      ),
      hardware: reflect({ resource: resources.nodeHardwares, project: readAs(nodeHardwareKind) }, (change) => {
        if (change.type === "deleted") this.#forgetIfUnrecorded(change.key);
        return hardwareChangeMatters(change);
      }),
      twins: reflect({ resource: resources.nodeTwins, project: readAs(nodeTwinKind) }, (change) => {
        if (change.type === "deleted") {
          this.#twins.recordDeletion(change.key, change.old.metadata.uid);
          this.#forgetIfUnrecorded(change.key);
        }
        if (isReceipt(change)) options.onUrgentChange();
        return twinChangeMatters(change) && !(change.type !== "deleted" && this.#twins.isEcho(change.key, change.new));
      }),
      profiles: reflect({ resource: resources.nodePowerProfiles, project: readAs(nodePowerProfileKind) }, (change) => {
        if (change.type === "deleted") {
          this.#profiles.recordDeletion(change.key, change.old.metadata.uid);
          this.#forgetIfUnrecorded(change.key);
        }
        return !(change.type !== "deleted" && this.#profiles.isEcho(change.key, change.new));
      }),
    };
    this.#nodes = new LatestObjects(this.#reflected.nodes.store, clock);
    this.#twins = new LatestObjects(this.#reflected.twins.store, clock);
    this.#profiles = new LatestObjects(this.#reflected.profiles.store, clock);
  }

  start(): void {
    this.sleep?.start();
    for (const reflector of Object.values(this.#reflected)) reflector.start();
  }

  async stop(): Promise<void> {
    const stopping = Object.values(this.#reflected).map(async (reflector) => reflector.stop());
    await Promise.all([...stopping, this.sleep?.stop()]);
  }

  /** Waits for nodes, twins and pins, and for a limited time for pods and hardware, without which it can plan. */
  async synced(signal: AbortSignal): Promise<void> {
    const { nodes, twins, profiles, pods, hardware } = this.#reflected;
    await Promise.all([nodes, twins, profiles].map(async (reflector) => reflector.synced(signal)));
    const optionalLists = async (limit: AbortSignal) =>
      Promise.allSettled([
        ...[pods, hardware].map(async (reflector) => reflector.synced(limit)),
        this.sleep?.synced(limit),
      ]);
    await withTimeLimit(this.#clock, OPTIONAL_LISTS_TIMEOUT, optionalLists, { signal });
    signal.throwIfAborted();
  }

  /** Lists that were never read, for /readyz. */
  get missing(): readonly string[] {
    return unreadOf(this.#reflected);
  }

  get current(): boolean {
    return this.outdated.length === 0;
  }

  /** Lists that may be stale. While there are any, no node is downgraded. */
  get outdated(): readonly string[] {
    const { hardware, ...rest } = this.#reflected;
    const outdated = Object.entries(rest).flatMap(([name, reflector]) => (isCurrent(reflector) ? [] : [name]));
    // Hardware determines the densest nodes. Before it is read once, a node could be downgraded and promoted again.
    return hardware.hasSynced ? outdated : [...outdated, "hardware"];
  }

  get nodesCurrent(): boolean {
    return isCurrent(this.#reflected.nodes);
  }

  *nodes(): Iterable<SnapshotNode> {
    // Only nodes in the watch: the response of a write may describe a node that was deleted meanwhile.
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

  *waitingPerformancePods(): Iterable<PodReference> {
    for (const { active, node, performanceSensitive, reference } of this.#reflected.pods.store.values())
      if (active && node === undefined && performanceSensitive && reference !== undefined) yield reference;
  }

  *podsOfUnknownClass(): Iterable<PodOfUnknownClass> {
    for (const { invalidClass } of this.#reflected.pods.store.by("invalidClass", "any"))
      if (invalidClass !== undefined) yield invalidClass;
  }

  *recorded(): Iterable<string> {
    yield* this.#twins.names();
    for (const [name] of this.#reflected.hardware.store.entries()) yield name;
    yield* this.#profiles.names();
  }

  isGone(name: string): boolean {
    if (this.node(name) !== undefined) return false;
    const now = this.#clock.monotonic();
    if (!this.#withoutNode.has(name)) this.#withoutNode.set(name, now);
    const since = this.#withoutNode.get(name);
    return since === undefined || elapsed(since, now) >= ORPHANED_AFTER;
  }

  #isRecorded(name: string): boolean {
    return (this.#twins.get(name) ?? this.hardware(name) ?? this.profile(name)) !== undefined;
  }

  #forgetIfUnrecorded(name: string): void {
    if (!this.#isRecorded(name)) this.#withoutNode.delete(name);
  }

  /** The response also contains recent changes by other writers, whose watch events would be taken for echoes of this write. */
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
    if (nodeChangeMatters({ type: "updated", key: node.metadata.name, old: expected, new: node }))
      this.#onRelevantChange();
  }

  recordTwinResponse(object: KubeObject, written: "spec" | "status"): void {
    const twin = readAs(nodeTwinKind)(object);
    const { name } = twin.metadata;
    const before = this.twin(name);
    this.#twins.recordResponse(name, twin);
    if (before === undefined) return;
    // If the half that was not written differs, another writer has changed it.
    const expected = written === "spec" ? { ...twin, status: before.status } : { ...twin, spec: before.spec };
    if (twinChangeMatters({ type: "updated", key: name, old: expected, new: twin })) this.#onRelevantChange();
  }

  recordProfileResponse(object: KubeObject): void {
    const profile = readAs(nodePowerProfileKind)(object);
    this.#profiles.recordResponse(profile.metadata.name, profile);
  }

  /** The server reported that the twin does not exist. */
  recordTwinDeletion(name: string): void {
    this.#twins.recordDeletion(name);
  }
}
