import { type ClusterPlan, leftoversOf, type NodePlan } from "../../../core/planning/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type KubeIo, WorkQueue } from "../../../platform/kube/index.ts";
import type { EventPublisher } from "../events/event-publisher.ts";
import type { OperatorMetrics } from "../metrics/operator-metrics.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { OperatorSettings } from "../settings.ts";
import { AlivePublisher } from "./alive-publisher.ts";
import { ApiWriter, FailedStep, WriteSuperseded } from "./api-writer.ts";
import { diffNode, type NodeDiff } from "./diff.ts";
import { Heartbeats, type PublishedTwin } from "./heartbeats.ts";
import { type PendingWrites, PlanWriter } from "./plan-writer.ts";
import { WriteFailures } from "./write-failures.ts";

export interface ReconcilerOptions extends KubeIo {
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  readonly pending: PendingWrites;
  readonly namespace: string;
  readonly shared: Readonly<Record<string, string>>;
  /** Checked right before each write: a replica that lost its lease or was stopped writes nothing more. */
  readonly mayWrite: () => boolean;
  /** Requests another planning pass: for example, eco caps follow once the node publishes eco. */
  readonly requestPass: () => void;
}

const CONCURRENCY = 16;
/** A prime, so that the first node of a pass differs for usual cluster sizes. */
const STRIDE = 997;

/** Writes the newest plan, node by node. A node whose write fails is retried with backoff and delays no other. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #queue: WorkQueue;
  readonly #api: ApiWriter;
  readonly #planWriter: PlanWriter;
  readonly #failures: WriteFailures;
  readonly #heartbeats: Heartbeats;
  readonly #alive: AlivePublisher;
  #plan: ClusterPlan | undefined;
  /** The first node differs in each pass and in each term. Otherwise short terms would always write the same nodes. */
  #start: number;

  constructor(options: ReconcilerOptions) {
    const { ioClock, random, log, settings } = options;
    this.#options = options;
    this.#start = Math.floor(random.next() * 2 ** 20);
    this.#api = new ApiWriter(options);
    this.#failures = new WriteFailures(options);
    this.#alive = new AlivePublisher(options);
    this.#heartbeats = new Heartbeats({
      interval: settings.heartbeat,
      agentInterval: settings.heartbeatWithAgent,
      isFromAgent: (lastUpdated) => this.#alive.has(lastUpdated),
    });
    this.#planWriter = new PlanWriter({ ...options, api: this.#api, diff: (plan) => this.#diff(plan) });
    this.#queue = new WorkQueue({
      clock: ioClock,
      random,
      log,
      concurrency: CONCURRENCY,
      work: async (name, signal) => this.#work(name, signal),
    });
  }

  failureOf(name: string): string | undefined {
    return this.#failures.get(name)?.message;
  }

  submit(plan: ClusterPlan): void {
    this.#plan = plan;
    this.#planWriter.settlePending(plan);
    const names = [...plan.nodes.keys(), ...plan.leftovers.keys()];
    this.#start += STRIDE;
    for (let index = 0; index < names.length; index++) {
      const name = names[(this.#start + index) % names.length] ?? "";
      if (this.#needsWork(name, plan)) this.#queue.add(name);
    }
    for (const name of this.#failures.names()) {
      if (plan.nodes.has(name) || plan.leftovers.has(name)) continue;
      this.#failures.delete(name);
      this.#queue.forget(name);
    }
    this.#heartbeats.keepOnly(plan.nodes);
  }

  /** Queues the twins whose heartbeat is due. The planning loop calls it between passes. */
  refreshDueTwins(): void {
    const { state, clock, mayWrite } = this.#options;
    if (!mayWrite()) return;
    const twins: PublishedTwin[] = [];
    const names = [...(this.#plan?.nodes.keys() ?? [])];
    // At a cold start nodes wait for their first status: nothing is refreshed before its time.
    const isStarting = names.some(
      (name) => state.twin(name)?.status?.lastUpdated === undefined && !this.#failures.has(name),
    );
    for (const name of names) {
      // The work queue retries failed nodes with backoff.
      if (this.#failures.has(name)) continue;
      const { lastUpdated, powerMeasurement } = state.twin(name)?.status ?? {};
      if (lastUpdated === undefined) continue;
      const hasAgent = this.#alive.works && (powerMeasurement?.source === "agent" || this.#alive.has(lastUpdated));
      twins.push({ name, lastUpdated, canWait: hasAgent || isStarting });
    }
    for (const name of this.#heartbeats.choose(twins, clock.now())) this.#queue.add(name);
  }

  publishState(passesSucceed: boolean): void {
    if (!this.#options.mayWrite()) return;
    this.#alive.publish(passesSucceed && this.#plan !== undefined && this.#queue.size === 0);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#queue.stop(), this.#alive.stop()]);
  }

  #needsWork(name: string, plan: ClusterPlan): boolean {
    if (!this.#options.mayWrite()) return false;
    const failure = this.#failures.get(name);
    if (plan.leftovers.has(name)) return failure === undefined;
    const nodePlan = plan.nodes.get(name);
    if (nodePlan === undefined) return false;
    // Eco caps over a performance pod are withdrawn at once.
    if (this.#planWriter.hasPendingEcoCaps(name) && (failure === undefined || isUnderEcoCaps(nodePlan))) return true;
    if (failure !== undefined) {
      // A failed node waits for its retry, unless the plan now has another transition, which may succeed.
      const { transition } = nodePlan.decision;
      if (transition === undefined || transition.name === failure.transition) return false;
    }
    return this.#diff(nodePlan).steps.length > 0;
  }

  /** Compares a plan with the cluster as it is now, with the due heartbeat and the last write failure of the node. */
  #diff(plan: NodePlan): NodeDiff {
    const { state, settings, clock } = this.#options;
    const now = clock.now();
    const lastUpdated = state.twin(plan.name)?.status?.lastUpdated ?? "";
    const heartbeatDue = this.#heartbeats.isDue(plan.name, lastUpdated, now);
    return diffNode(plan, state, { now, settings, heartbeatDue, failure: this.#failures.reportable(plan.name) });
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    if (!this.#options.mayWrite()) return;
    const nodePlan = this.#plan?.nodes.get(name);
    try {
      if (nodePlan === undefined) await this.#removeLeftovers(name, signal);
      else await this.#planWriter.write(nodePlan, signal);
    } catch (error) {
      if (error instanceof FailedStep) {
        const transition = this.#plan?.nodes.get(name)?.decision.transition?.name;
        if (!signal.aborted) this.#failures.add(name, error.step, error.cause, transition);
        throw error.cause;
      }
      if (!(error instanceof WriteSuperseded)) throw error;
      if (error.retryAfter !== undefined) this.#queue.addAfter(name, error.retryAfter);
    }
    // Written or superseded. The next pass corrects a condition that still reports the failure.
    this.#failures.delete(name);
  }

  async #removeLeftovers(name: string, signal: AbortSignal): Promise<void> {
    const { state, settings, metrics } = this.#options;
    const leftovers = leftoversOf(state, name, settings);
    if (leftovers === undefined || !this.#plan?.leftovers.has(name)) return;
    try {
      await this.#api.removeLeftovers(name, leftovers, { signal });
    } catch (error) {
      throw error instanceof WriteSuperseded ? error : new FailedStep("cleanup", error);
    }
    metrics.countWrite("cleanup");
  }
}

const isUnderEcoCaps = ({ seen, performancePods = 0 }: NodePlan): boolean => seen.caps === "eco" && performancePods > 0;
