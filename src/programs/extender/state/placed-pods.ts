import type { Pod } from "../../../core/api/index.ts";
import { type EnergyKernel, type PlacedPod, type RunningPod, runningPodOf } from "../../../core/scoring/index.ts";
import {
  formatDuration,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type Change, type KubeIo, type KubeObject, Reflector, resources } from "../../../platform/kube/index.ts";
import { ChangeQueue } from "./change-queue.ts";

export interface PlacedPodsOptions extends KubeIo {
  readonly kernel: EnergyKernel;
  /** The clock of decisions: assumed pods expire by it. */
  readonly clock: Clock;
  /** Real time, for API calls. */
  readonly ioClock: Clock;
  /** Maximum silence of the watch before it is replaced. */
  readonly idleLimit: Milliseconds;
  /** After this long without contact the pods are too old to place others by. */
  readonly stalenessThreshold: Milliseconds;
}

/** How long a pod counts on the node that was ranked first for it, unless its binding appears earlier. */
const ASSUMED_FOR = milliseconds(2000);
/** kube-scheduler places a few hundred pods per second. The oldest assumptions are dropped first. */
const MAX_ASSUMED = 10_000;
/** Projecting a page of this size takes a few milliseconds. */
const PAGE_SIZE = 250;

/** Adds pods to nodes: those that the watch reports, and for a short time those just ranked, as in a burst. */
export class PlacedPods {
  readonly #kernel: EnergyKernel;
  readonly #clock: Clock;
  readonly #stalenessThreshold: Milliseconds;
  readonly #changes: ChangeQueue;
  readonly #reflector: Reflector<WatchedPod>;
  readonly #assumed = new Map<string, MonotonicInstant>();
  #wasSynced = false;

  constructor(options: PlacedPodsOptions) {
    const { kernel, client, clock, ioClock, random, log, idleLimit, stalenessThreshold } = options;
    this.#kernel = kernel;
    this.#clock = clock;
    this.#stalenessThreshold = stalenessThreshold;
    this.#changes = new ChangeQueue(ioClock, (err) => log.error({ err }, "cannot apply a pod event"));
    this.#reflector = new Reflector({
      client,
      clock: ioClock,
      random,
      log,
      resource: resources.pods,
      selection: podSelection,
      project: watchedPod,
      idleLimit,
      pageSize: PAGE_SIZE,
      onChange: (changes) => this.#changes.add(changes.map((change) => () => this.#apply(change))),
      onForbidden: () =>
        log.error(
          { code: "JOULIE_E_API_FORBIDDEN" },
          "SCORING=energy needs the permission to list and watch pods; scoring by headroom until it is granted",
        ),
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    this.#changes.clear();
  }

  /** Why pods cannot be placed by joules now; undefined if they can. */
  get unavailable(): PodWatchProblem | undefined {
    if (this.#reflector.isForbidden) return "forbidden";
    this.#wasSynced ||= this.#reflector.hasSynced && this.#changes.isIdle;
    if (!this.#wasSynced) return "unsynced";
    return (this.#reflector.silence ?? 0) > this.#stalenessThreshold ? "stale" : undefined;
  }

  explain(problem: PodWatchProblem): string {
    if (problem === "stale") {
      return `no contact with the pod watch for ${formatDuration(milliseconds(Math.round(this.#reflector.silence ?? 0)))}`;
    }
    return problem === "forbidden" ? "the extender may not list and watch pods" : "the pods are not listed yet";
  }

  get count(): number {
    return this.#kernel.podCount;
  }

  get assumed(): number {
    this.#expire();
    return this.#assumed.size;
  }

  /** Before a pod is ranked: drops what has expired, and an earlier assumption about the same pod. */
  prepare(key: string): void {
    this.#expire();
    if (this.#assumed.delete(key)) this.#kernel.removePod(key);
  }

  /** Counts a pod on the node that was ranked first for it. */
  assume(key: string, node: string, pod: PlacedPod): void {
    if (this.#kernel.nodeOfPod(key) !== undefined) return;
    if (this.#assumed.size >= MAX_ASSUMED) this.#drop(this.#assumed.keys().next().value);
    this.#assumed.set(key, monotonicInstant(this.#clock.monotonic() + ASSUMED_FOR));
    this.#kernel.addPod(key, node, { ...pod, startedAt: this.#clock.now(), background: false });
  }

  #expire(): void {
    const now = this.#clock.monotonic();
    for (const [key, expiresAt] of this.#assumed) {
      if (expiresAt > now) break;
      this.#drop(key);
    }
  }

  #drop(key: string | undefined): void {
    if (key !== undefined && this.#assumed.delete(key)) this.#kernel.removePod(key);
  }

  #apply(change: Change<WatchedPod>): void {
    if (change.type === "deleted") {
      this.#assumed.delete(change.old.key);
      this.#kernel.removePod(change.old.key);
      return;
    }
    const { key, node, pod } = change.new;
    if (change.type === "updated" && change.old.key !== key) this.#kernel.removePod(change.old.key);
    this.#assumed.delete(key);
    this.#kernel.addPod(key, node, pod);
  }
}

export type PodWatchProblem = "forbidden" | "unsynced" | "stale";

/** A pod on a node, with the fields that its node's load depends on: whole pods of a large cluster would take 100 MB. */
interface WatchedPod {
  readonly key: string;
  readonly node: string;
  readonly pod: RunningPod;
}

const podSelection = {
  fieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
} as const;

/** Identifies a pod in watch events and in the requests of kube-scheduler. */
export const podKey = ({ uid = "", namespace = "", name }: Pod["metadata"]): string =>
  uid === "" ? `${namespace}/${name}` : uid;

export function watchedPod(object: KubeObject): WatchedPod | undefined {
  const pod = object as KubeObject & Pod;
  const { nodeName } = pod.spec ?? {};
  const { phase } = pod.status ?? {};
  if (typeof nodeName !== "string" || nodeName === "" || phase === "Succeeded" || phase === "Failed") return undefined;
  return { key: podKey(object.metadata), node: nodeName, pod: runningPodOf(pod) };
}
