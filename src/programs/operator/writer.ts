import { JoulieError } from "../../core/api/index.ts";
import { fnv1a32 } from "../../core/control/index.ts";
import { seenOn } from "../../core/policy/index.ts";
import type { RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { ApiError, isApiError, type KubeClient, WorkQueue } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { leftoversOf } from "./cleanup.ts";
import { performancePodsOn } from "./cluster-view.ts";
import { type DiffContext, isDue, type Job, jobFor } from "./diff.ts";
import type { Figures } from "./figures.ts";
import type { News } from "./news-events.ts";
import type { ClusterPlan, NodePlan } from "./pass.ts";
import type { OperatorSettings } from "./settings.ts";
import type { ClusterState } from "./state.ts";
import { Writes } from "./writes.ts";

export interface WriterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly figures: Figures;
  readonly news: News;
  /** Looked at right before each write: whoever lost the lease writes nothing more. */
  readonly mayWrite: () => boolean;
  /** A write leaves more to decide: eco caps follow once the node shows eco. */
  readonly onMore: () => void;
}

const CONCURRENCY = 16;
/** A number with no common factor with cluster sizes of people, so that starts spread. */
const STRIDE = 997;
/** Heartbeats fall due between this share of TWIN_HEARTBEAT and all of it, so that they spread over time. */
const EARLIEST_HEARTBEAT = 0.7;

/**
 * Makes the cluster show the newest plan, node by node. Each node is a job of its own that looks at plan and cluster when its
 * turn comes; one that fails comes back later and later, and keeps nobody else from being served.
 */
export class Writer {
  readonly #options: WriterOptions;
  readonly #queue: WorkQueue;
  readonly #writes: Writes;
  readonly #failures = new Map<string, Failure>();
  #plan: ClusterPlan | undefined;
  #passes = 0;

  constructor(options: WriterOptions) {
    const { client, ioClock, random, log, state } = options;
    this.#options = options;
    this.#writes = new Writes(client, state);
    this.#queue = new WorkQueue({
      clock: ioClock,
      random,
      log,
      concurrency: CONCURRENCY,
      work: async (name, signal) => this.#work(name, signal),
    });
  }

  /** Why what was decided about a node is not written yet. */
  failureOf(name: string): string | undefined {
    return this.#failures.get(name)?.message;
  }

  /** The newest plan is the only one that counts. Nodes that show it already cost nothing but the comparison. */
  submit(plan: ClusterPlan): void {
    this.#plan = plan;
    const names = [...plan.nodes.keys(), ...plan.leftovers.keys()];
    const start = names.length === 0 ? 0 : (this.#passes++ * STRIDE) % names.length;
    for (const name of [...names.slice(start), ...names.slice(0, start)]) {
      if (this.#isToDo(name, plan)) this.#queue.add(name);
    }
    for (const name of this.#failures.keys()) {
      if (plan.nodes.has(name) || plan.leftovers.has(name)) continue;
      this.#failures.delete(name);
      this.#queue.forget(name);
    }
  }

  /** Between passes: refreshes the twins whose time has come. */
  beat(): void {
    const { state, settings, clock } = this.#options;
    const now = clock.now();
    for (const name of this.#plan?.nodes.keys() ?? []) {
      const lastUpdated = state.twin(name)?.status?.lastUpdated;
      if (lastUpdated !== undefined && isDue(lastUpdated, { now, settings, jitter: jitterOf(name, lastUpdated) }))
        this.#queue.add(name);
    }
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  #isToDo(name: string, plan: ClusterPlan): boolean {
    // One that failed has its own time to come back, and news for it may be the remedy: but not on every pass.
    if (plan.leftovers.has(name)) return !this.#failures.has(name);
    const own = plan.nodes.get(name);
    if (own === undefined) return false;
    if (this.#failures.has(name) && own.decision.transition === undefined) return false;
    return this.#jobFor(own).steps.length > 0;
  }

  #jobFor(plan: NodePlan): Job {
    const { state, settings, clock } = this.#options;
    const context: DiffContext = {
      now: clock.now(),
      settings,
      jitter: jitterOf(plan.name, state.twin(plan.name)?.status?.lastUpdated ?? ""),
      failure: toldIn(this.#failures.get(plan.name)),
    };
    return jobFor(plan, state, context);
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    const own = this.#plan?.nodes.get(name);
    if (own === undefined) await this.#clear(name, signal);
    else await this.#publish(own, signal);
  }

  async #clear(name: string, signal: AbortSignal): Promise<void> {
    const { state, settings, figures, mayWrite } = this.#options;
    const left = leftoversOf(state, name, settings);
    if (left === undefined || !this.#plan?.leftovers.has(name) || !mayWrite()) return;
    try {
      await this.#writes.clear(name, left, signal);
      figures.wrote("cleanup");
      this.#failures.delete(name);
    } catch (error) {
      this.#failed(name, "cleanup", error, signal);
    }
  }

  async #publish(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { state, figures, news, mayWrite, onMore } = this.#options;
    const { name } = plan;
    const job = this.#jobFor(plan);
    for (const step of job.steps) {
      // At the last moment: a pod bound since the plan was made keeps its node from going down.
      if (job.needsNoPerformancePods && !(state.current && performancePodsOn(state, name) === 0)) return;
      if (!mayWrite()) return;
      try {
        await this.#writes.take(name, step, signal);
      } catch (error) {
        if (step.kind === "labels" && isApiError(error, "notFound")) return;
        if (step.kind === "status" && isApiError(error, "notFound")) state.twinGone(name);
        this.#failed(name, step.kind, error, signal);
      }
      figures.wrote(step.kind === "status" && step.heartbeat ? "heartbeat" : step.kind);
      const { transition } = plan.decision;
      if (step.kind === "spec" && job.moves && transition !== undefined) {
        figures.moved(name, transition);
        news.moved(state.node(name), plan, transition);
      }
    }
    this.#show(plan);
    if (job.moves || job.needsNoPerformancePods) onMore();
    // A condition that said so is out of date: the next pass finds that out.
    this.#failures.delete(name);
  }

  #show({ name, shape, pin }: NodePlan): void {
    const { state, settings, figures } = this.#options;
    const node = state.node(name);
    if (node === undefined) return;
    const powerProfileLabel = settings.labels.powerProfile;
    figures.shown(node, seenOn(node, state.twin(name), { caps: shape.caps, pin, powerProfileLabel }).state, settings);
  }

  /** Always throws: the queue tries again by its own measure. */
  #failed(name: string, kind: string, error: unknown, signal: AbortSignal): never {
    if (signal.aborted) throw error;
    const { figures, news, state, log } = this.#options;
    const message = `${kind}: ${error instanceof Error ? error.message : String(error)}`;
    figures.failed(kind);
    const passing = isPassing(error);
    const before = this.#failures.get(name);
    if (!passing && before?.passing !== false) news.failed(state.node(name), kind, message);
    if (before === undefined) {
      // What we made ourselves and may not write is a fault of ours; all else is the cluster's and shown as such.
      const ours = error instanceof JoulieError || !(error instanceof ApiError);
      log[ours ? "error" : "debug"]({ node: name, kind, err: error }, "a write failed; it is tried again");
    }
    this.#failures.set(name, { step: kind, message, passing });
    throw error;
  }
}

interface Failure {
  readonly step: string;
  readonly message: string;
  /** The API as a whole is away or busy: of a node it says nothing, and to say so on 5,000 of them would keep it busy. */
  readonly passing: boolean;
}

const isPassing = (error: unknown): boolean =>
  isApiError(error, "network", "timeout", "unavailable", "tooMany", "busy", "garbled", "unauthorized");

const toldIn = (failure: Failure | undefined): Failure | undefined =>
  failure?.passing === false ? failure : undefined;

/** Differs from node to node and from beat to beat, and yet is the same each time it is asked for. */
const jitterOf = (name: string, lastUpdated: string): number =>
  EARLIEST_HEARTBEAT + (1 - EARLIEST_HEARTBEAT) * (fnv1a32(`${name} ${lastUpdated}`) / 2 ** 32);
