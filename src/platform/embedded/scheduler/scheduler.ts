import { errorMessageOf } from "../../../core/api/index.ts";
import type { ScoringStrategy } from "../../../core/scoring/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { EventRecorder, type KubeClient, type KubeIo, Reflector, resources } from "../../kube/index.ts";
import type { Logger } from "../../log/index.ts";
import { kubeTimestamp } from "../storage/kube-object.ts";
import { chooseNode, NoNodeFitsError, unfitReason } from "./choose.ts";
import { mayAcceptMorePods, nodeViewOf, podViewOf, type SchedulerNode, type SchedulerPod } from "./cluster-view.ts";
import type { ExtenderClient } from "./extender.ts";
import { Occupancy } from "./occupancy.ts";
import { WaitingPods } from "./waiting-pods.ts";

export interface SchedulerOptions extends KubeIo {
  readonly clock: Clock;
  /** The time in which pods wait for their next try and Events repeat, where `clock` measures another. */
  readonly clusterClock?: Clock;
  readonly extenders?: readonly ExtenderClient[];
  /** Schedules only pods with this `spec.schedulerName`. */
  readonly schedulerName?: string;
  /** As in KubeSchedulerConfiguration: a lower value schedules faster in large clusters. */
  readonly percentageOfNodesToScore?: number;
  /** Of NodeResourcesFit, as in KubeSchedulerConfiguration; by default LeastAllocated. */
  readonly scoringStrategy?: ScoringStrategy;
}

/** The scheduler decides on one pod at a time, but up to this many API writes run concurrently. */
const MAX_WRITES = 64;
/** After this many decisions the scheduler yields to the event loop. */
const DECISIONS_PER_TURN = 32;

/** A small kube-scheduler: no preemption, no volumes, no spreading, no affinity between pods. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #nodes: Reflector<SchedulerNode>;
  readonly #pods: Reflector<SchedulerPod>;
  readonly #occupancy = new Occupancy();
  readonly #waiting: WaitingPods;
  readonly #events: EventRecorder;
  readonly #stop = new AbortController();
  readonly #writes = new Set<Promise<void>>();
  #wake = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #start = 0;
  /** Nodes that gained capacity since the current decision started. */
  #stirred: SchedulerNode[] = [];
  /** Requirement shapes that currently fit no node, so that many equal pods are not tried one by one. */
  readonly #hopeless = new Map<string, NoNodeFitsError>();
  /** Cached list of the store's nodes; rebuilt when one changes. */
  #nodeList: readonly SchedulerNode[] | undefined;

  constructor(options: SchedulerOptions) {
    const {
      client,
      clock,
      clusterClock = clock,
      random,
      log,
      extenders = [],
      schedulerName = "default-scheduler",
    } = options;
    this.#options = options;
    this.#waiting = new WaitingPods(clusterClock, () => this.#wake.resolve());
    this.#events = new EventRecorder({
      client,
      clock,
      seriesClock: clusterClock,
      random,
      log,
      controller: schedulerName,
      instance: schedulerName,
    });
    const keepNodes = extenders.some((extender) => extender.wantsNodes);
    const shared = { client, clock, random, log };
    this.#nodes = new Reflector({
      ...shared,
      resource: resources.nodes,
      project: (node) => nodeViewOf(node, keepNodes),
      onChange: (changes) => {
        this.#nodeList = undefined;
        this.#hopeless.clear();
        for (const one of changes) {
          const helps = one.type === "added" || (one.type === "updated" && mayAcceptMorePods(one.old, one.new));
          if (helps) this.#stir(one.new);
        }
      },
    });
    this.#pods = new Reflector({
      ...shared,
      resource: resources.pods,
      project: (pod) => podViewOf(pod, schedulerName),
      onChange: (changes) => {
        for (const change of changes) {
          if (change.type === "deleted") this.#leave(change.old);
          else this.#see(change.new);
        }
      },
    });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Runs until the signal aborts, then stops gracefully; rejects on an unexpected error. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => stopped.resolve(), { once: true });
    if (signal.aborted) return;
    this.start();
    try {
      await Promise.race([this.#running, stopped.promise]);
    } finally {
      await this.stop();
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the scheduler was stopped"));
    this.#wake.resolve();
    await Promise.allSettled([this.#nodes.stop(), this.#pods.stop(), this.#running, ...this.#writes]);
    this.#waiting.clear();
    await this.#events.stop();
  }

  #see(pod: SchedulerPod): void {
    if (pod.nodeName !== undefined && pod.active) {
      this.#waiting.forget(pod.key);
      // Another scheduler may have bound the pod to a different node.
      if (this.#occupancy.nodeOf(pod.key) !== pod.nodeName) this.#free(pod.key);
      this.#occupancy.place(pod.key, pod.nodeName, pod.requests);
    } else if (pod.waiting === undefined) this.#leave(pod);
    // The API still shows a pod as unbound while its binding is in flight.
    else if (this.#occupancy.nodeOf(pod.key) === undefined) this.#waiting.offer(pod);
  }

  #leave({ key }: SchedulerPod): void {
    this.#waiting.forget(key);
    this.#free(key);
  }

  /** Releases the resources that a pod occupies or reserved. */
  #free(key: string): void {
    const name = this.#occupancy.nodeOf(key);
    if (name === undefined) return;
    this.#occupancy.remove(key);
    const node = this.#nodes.store.getByKey(name);
    if (node !== undefined) this.#stir(node);
  }

  /** A node gained capacity: retries the pods that would fit it. */
  #stir(node: SchedulerNode): void {
    this.#stirred.push(node);
    this.#hopeless.clear();
    const load = this.#occupancy.on(node.name);
    this.#waiting.retryWhere((pod) => unfitReason(pod, node, load) === undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    this.#nodes.start();
    this.#pods.start();
    try {
      await Promise.all([this.#nodes.synced(signal), this.#pods.synced(signal)]);
      for (let decisions = 1; !signal.aborted; decisions++) {
        const next = this.#waiting.next();
        if (next === undefined) {
          await this.#wake.promise;
          this.#wake = Promise.withResolvers();
          continue;
        }
        await this.#decide(next.pod, next.attempts);
        if (this.#writes.size >= MAX_WRITES) await Promise.race(this.#writes);
        if (decisions % DECISIONS_PER_TURN === 0) await this.#options.clock.sleep(milliseconds(0), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #decide(pod: SchedulerPod, attempts: number): Promise<void> {
    const { random, log, extenders = [] } = this.#options;
    const { signal } = this.#stop;
    this.#stirred = [];
    this.#nodeList ??= [...this.#nodes.store.values()];
    const nodes = this.#nodeList;
    const shape = pod.waiting?.shape ?? "";
    try {
      const hopeless = this.#hopeless.get(shape);
      if (hopeless !== undefined) throw hopeless;
      const { percentageOfNodesToScore, scoringStrategy } = this.#options;
      const view = { nodes, occupancy: this.#occupancy, start: this.#start, percentageOfNodesToScore, scoringStrategy };
      const world = { ...view, extenders, random, log };
      const { node, looked } = await chooseNode(pod, world, signal);
      this.#start = nodes.length === 0 ? 0 : (this.#start + looked) % nodes.length;
      if (this.#stillWaiting(pod) !== undefined) this.#bind(pod, node, attempts);
    } catch (error) {
      if (signal.aborted) return;
      const reason = errorMessageOf(error);
      if (error instanceof NoNodeFitsError && error.forAllAlike && this.#stirred.length === 0)
        this.#hopeless.set(shape, error);
      const now = this.#stillWaiting(pod);
      if (now === undefined) return;
      // An unavailable extender may return soon. A full cluster needs a change first, which may
      // have happened during the extender calls.
      const changed = this.#stirred.some((node) => unfitReason(now, node, this.#occupancy.on(node.name)) === undefined);
      this.#waiting.fail(now, attempts, changed || !(error instanceof NoNodeFitsError));
      if (!(error instanceof NoNodeFitsError)) log.warn({ pod: pod.key, reason }, "cannot schedule pod");
      this.#beside(
        reportUnschedulable(this.#options, this.#events, now, reason, error instanceof NoNodeFitsError, signal),
      );
    }
  }

  /** The pod's current state; undefined when it was deleted, bound or recreated during the decision. */
  #stillWaiting({ key, uid }: SchedulerPod): SchedulerPod | undefined {
    const now = this.#pods.store.getByKey(key);
    return now?.uid === uid && now.waiting !== undefined ? now : undefined;
  }

  #bind(pod: SchedulerPod, node: string, attempts: number): void {
    const { client, log } = this.#options;
    const { key, name, namespace, uid } = pod;
    this.#occupancy.place(key, node, pod.requests);
    // An update during the extender calls may have requeued the pod.
    this.#waiting.forget(key);
    const binding = client
      .bind({ name, namespace, uid }, node, { signal: this.#stop.signal })
      .then(() => {
        const note = `Successfully assigned ${key} to ${node}`;
        const regarding = { apiVersion: "v1", kind: "Pod", name, namespace, uid };
        this.#events.record({ regarding, type: "Normal", reason: "Scheduled", action: "Binding", note });
      })
      .catch((err: unknown) => {
        if (this.#stop.signal.aborted) return;
        log.warn({ pod: key, node, err }, "cannot bind pod");
        // Another scheduler may have bound it; the API's state wins.
        const now = this.#stillWaiting(pod);
        if (now === undefined) return;
        this.#waiting.fail(now, attempts, true);
        this.#free(key);
      });
    this.#beside(binding);
  }

  #beside(writing: Promise<void>): void {
    const write = writing.finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }
}

const MANAGER = "embedded-scheduler";

interface Condition {
  readonly type: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Reports why a pod is unschedulable in its condition and in an event; skips unchanged messages. */
async function reportUnschedulable(
  { client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Logger },
  events: EventRecorder,
  pod: SchedulerPod,
  message: string,
  noFit: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid, key } = pod;
  const reason = noFit ? "Unschedulable" : "SchedulerError";
  const regarding = { apiVersion: "v1", kind: "Pod", name, namespace, uid };
  events.record({ regarding, type: "Warning", reason: "FailedScheduling", action: "Scheduling", note: message });
  const status = pod.waiting?.object as { status?: { conditions?: readonly Condition[] } } | undefined;
  const before = status?.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (before?.reason === reason && before.message === message) return;
  const lastTransitionTime = kubeTimestamp(clock.now());
  const condition = { type: "PodScheduled", status: "False", reason, message, lastTransitionTime };
  try {
    const manifest = { metadata: { uid }, status: { conditions: [condition] } };
    await client.apply(resources.pods, { name, namespace }, manifest, {
      subresource: "status",
      fieldManager: MANAGER,
      force: true,
      signal,
    });
  } catch (err) {
    if (!signal.aborted) log.debug({ pod: key, err }, "cannot write the pod's PodScheduled condition");
  }
}
