import { type ClusterPlan, leftoversOf, type NodePlan } from "../../../core/planning/index.ts";
import type { RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type KubeClient, WorkQueue } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { EventPublisher } from "../events/event-publisher.ts";
import type { OperatorMetrics } from "../metrics/operator-metrics.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { OperatorSettings } from "../settings.ts";
import { ApiWriter, WriteSuperseded } from "./api-writer.ts";
import { diffNode, type NodeDiff } from "./diff.ts";
import { Heartbeats } from "./heartbeats.ts";
import type { PendingWrites } from "./pending-writes.ts";
import { PlanWriter } from "./plan-writer.ts";
import { WriteFailures } from "./write-failures.ts";

export interface ReconcilerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  readonly pending: PendingWrites;
  /** Looked at right before each write: whoever lost the lease writes nothing more. */
  readonly mayWrite: () => boolean;
  /** A write leaves more to decide: eco caps follow once the node shows eco. */
  readonly requestPass: () => void;
}

const CONCURRENCY = 16;
/** A number with no common factor with cluster sizes of people, so that starts spread. */
const STRIDE = 997;

/**
 * Makes the cluster show the newest plan, node by node. Each node is a job of its own that looks at plan and cluster when its
 * turn comes; one that fails comes back later and later, and keeps nobody else from being served.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #queue: WorkQueue;
  readonly #writes: ApiWriter;
  readonly #publisher: PlanWriter;
  readonly #failures: WriteFailures;
  readonly #heartbeats: Heartbeats;
  /** Plans that the cluster was seen to show: while they are the same, so is the cluster (they would be others otherwise). */
  readonly #settled = new Map<string, NodePlan>();
  #plan: ClusterPlan | undefined;
  /** Who comes first is another one in each pass; and in each term, or short terms would serve the same nodes only. */
  #start: number;

  constructor(options: ReconcilerOptions) {
    const { ioClock, random, log, settings } = options;
    this.#options = options;
    this.#start = Math.floor(random.next() * 2 ** 20);
    this.#writes = new ApiWriter(options);
    this.#failures = new WriteFailures(options);
    this.#heartbeats = new Heartbeats(settings.heartbeat);
    this.#queue = new WorkQueue({
      clock: ioClock,
      random,
      log,
      concurrency: CONCURRENCY,
      work: async (name, signal) => this.#work(name, signal),
    });
    this.#publisher = new PlanWriter({
      ...options,
      writes: this.#writes,
      jobFor: (plan) => this.#jobFor(plan),
      onFailure: (...failure) => this.#failed(...failure),
      comeBack: (name, after) => this.#queue.addAfter(name, after),
    });
  }

  /** Why what was decided about a node is not written yet. */
  failureOf(name: string): string | undefined {
    return this.#failures.get(name)?.message;
  }

  /** The newest plan is the only one that counts. Nodes that show it already cost nothing but a glance. */
  submit(plan: ClusterPlan): void {
    this.#plan = plan;
    this.#publisher.follow(plan);
    const names = [...plan.nodes.keys(), ...plan.leftovers.keys()];
    this.#start += STRIDE;
    for (let index = 0; index < names.length; index++) {
      const name = names[(this.#start + index) % names.length] ?? "";
      if (this.#isToDo(name, plan)) this.#queue.add(name);
    }
    for (const name of this.#failures.names()) {
      if (plan.nodes.has(name) || plan.leftovers.has(name)) continue;
      this.#failures.delete(name);
      this.#queue.forget(name);
    }
    this.#heartbeats.keepOnly(plan.nodes);
    for (const name of this.#settled.keys()) if (!plan.nodes.has(name)) this.#settled.delete(name);
  }

  /** Between passes: refreshes the twins whose time has come. */
  refreshDueTwins(): void {
    const { state, clock } = this.#options;
    const now = clock.now();
    for (const name of this.#plan?.nodes.keys() ?? []) {
      // One that failed comes back by itself, and each time later.
      if (!this.#heartbeats.mayBeDue(name, now) || this.#failures.has(name)) continue;
      const lastUpdated = state.twin(name)?.status?.lastUpdated;
      if (lastUpdated !== undefined && this.#heartbeats.isDue(name, lastUpdated, now)) this.#queue.add(name);
    }
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  #isToDo(name: string, plan: ClusterPlan): boolean {
    // One that failed has its own time to come back; only another way to go may be the remedy.
    const failure = this.#failures.get(name);
    if (plan.leftovers.has(name)) return failure === undefined;
    const own = plan.nodes.get(name);
    if (own === undefined) return false;
    // Eco caps over a pod wait for nothing.
    if (this.#publisher.isUnsure(name) && (failure === undefined || isUnderEco(own))) return true;
    if (failure !== undefined) {
      const { transition } = own.decision;
      if (transition === undefined || transition.name === failure.transition) return false;
    } else if (this.#settled.get(name) === own) return false;
    const isToDo = this.#jobFor(own).steps.length > 0;
    if (!isToDo) this.#settled.set(name, own);
    return isToDo;
  }

  #jobFor(plan: NodePlan): NodeDiff {
    const { state, settings, clock } = this.#options;
    const lastUpdated = state.twin(plan.name)?.status?.lastUpdated ?? "";
    const now = clock.now();
    const heartbeatDue = this.#heartbeats.isDue(plan.name, lastUpdated, now);
    return diffNode(plan, state, { now, settings, heartbeatDue, failure: this.#failures.reportable(plan.name) });
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    const own = this.#plan?.nodes.get(name);
    try {
      if (own === undefined) await this.#clear(name, signal);
      else await this.#publisher.publish(own, signal);
    } catch (error) {
      if (!(error instanceof WriteSuperseded)) throw error;
    }
    // Done or overtaken: a condition that said so is out of date, and the next pass finds that out.
    this.#failures.delete(name);
  }

  async #clear(name: string, signal: AbortSignal): Promise<void> {
    const { state, settings, metrics: figures } = this.#options;
    const left = leftoversOf(state, name, settings);
    if (left === undefined || !this.#plan?.leftovers.has(name)) return;
    try {
      await this.#writes.removeLeftovers(name, left, { signal });
    } catch (error) {
      if (!(error instanceof WriteSuperseded)) this.#failed(name, "cleanup", error, signal);
      throw error;
    }
    figures.countWrite("cleanup");
  }

  /** The queue tries again by its own measure. */
  #failed(name: string, step: string, error: unknown, signal: AbortSignal): void {
    if (!signal.aborted) this.#failures.add(name, step, error, this.#plan?.nodes.get(name)?.decision.transition?.name);
  }
}

const isUnderEco = ({ seen, performancePods = 0 }: NodePlan): boolean => seen.caps === "eco" && performancePods > 0;
