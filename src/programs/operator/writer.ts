import { fnv1a32 } from "../../core/control/index.ts";
import { capsUnder, seenOn } from "../../core/policy/index.ts";
import { milliseconds, type RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, WorkQueue } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { leftoversOf } from "./cleanup.ts";
import { performancePodsOn } from "./cluster-view.ts";
import { Contest } from "./contest.ts";
import { type DiffContext, isDue, type Job, jobFor, type Step } from "./diff.ts";
import { Failures, mayHaveHappened } from "./failures.ts";
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
/** When a node is looked at again whose pods the watch has not shown yet. */
const UNSEEN_PODS_RETRY = milliseconds(5000);
/** A label that was set back so often is fought for by a program. */
const TOLD_AFTER = 2;

/**
 * Makes the cluster show the newest plan, node by node. Each node is a job of its own that looks at plan and cluster when its
 * turn comes; one that fails comes back later and later, and keeps nobody else from being served.
 */
export class Writer {
  readonly #options: WriterOptions;
  readonly #queue: WorkQueue;
  readonly #writes: Writes;
  readonly #failures: Failures;
  /** Nodes whose eco caps were sent and not confirmed: they may be in force although nothing shows them. */
  readonly #lowered = new Set<string>();
  readonly #contest = new Contest();
  /** Changes of state whose answer was lost: whether they have happened is seen later. */
  readonly #untold = new Map<string, NodePlan>();
  #plan: ClusterPlan | undefined;
  #passes = 0;

  constructor(options: WriterOptions) {
    const { client, ioClock, random, log, state } = options;
    this.#options = options;
    this.#writes = new Writes(client, state);
    this.#failures = new Failures(options);
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
    this.#tellLate(plan);
    const names = [...plan.nodes.keys(), ...plan.leftovers.keys()];
    const start = names.length === 0 ? 0 : (this.#passes++ * STRIDE) % names.length;
    for (const name of [...names.slice(start), ...names.slice(0, start)]) {
      if (this.#isToDo(name, plan)) this.#queue.add(name);
    }
    for (const name of this.#failures.names()) {
      if (plan.nodes.has(name) || plan.leftovers.has(name)) continue;
      this.#failures.delete(name);
      this.#queue.forget(name);
    }
    this.#contest.keepOnly(plan.nodes);
    for (const name of this.#lowered) if (!plan.nodes.has(name)) this.#lowered.delete(name);
  }

  #tellLate({ nodes }: ClusterPlan): void {
    for (const [name, plan] of this.#untold) {
      const seen = nodes.get(name)?.seen.state;
      const { from, to } = plan.decision.transition ?? {};
      if (seen === from) continue;
      if (seen === to) this.#moved(plan);
      this.#untold.delete(name);
    }
  }

  /** Between passes: refreshes the twins whose time has come. */
  beat(): void {
    const { state, settings, clock } = this.#options;
    const now = clock.now();
    for (const name of this.#plan?.nodes.keys() ?? []) {
      // It comes back by itself, and each time later.
      if (this.#failures.has(name)) continue;
      const lastUpdated = state.twin(name)?.status?.lastUpdated;
      if (lastUpdated !== undefined && isDue(lastUpdated, { now, settings, jitter: jitterOf(name, lastUpdated) }))
        this.#queue.add(name);
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
    const { transition } = own.decision;
    if (failure !== undefined && (transition === undefined || transition.name === failure.transition)) return false;
    return this.#jobFor(own).steps.length > 0;
  }

  #jobFor(plan: NodePlan): Job {
    const { state, settings, clock } = this.#options;
    const context: DiffContext = {
      now: clock.now(),
      settings,
      jitter: jitterOf(plan.name, state.twin(plan.name)?.status?.lastUpdated ?? ""),
      failure: this.#failures.toldOf(plan.name),
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
    if (left === undefined || !this.#plan?.leftovers.has(name) || !mayWrite()) {
      this.#failures.delete(name);
      return;
    }
    try {
      await this.#writes.clear(name, left, { signal, beforeSending: () => this.#mustLead() });
      figures.wrote("cleanup");
      this.#failures.delete(name);
    } catch (error) {
      if (error instanceof Overtaken) return;
      this.#failed(name, "cleanup", error, signal);
    }
  }

  async #publish(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { figures, onMore } = this.#options;
    const { name } = plan;
    try {
      await this.#takeBack(plan, signal);
      const job = this.#jobFor(plan);
      for (const step of job.steps) {
        await this.#take(plan, job, step, signal);
        figures.wrote(step.kind === "status" && step.heartbeat ? "heartbeat" : step.kind);
        if (step.kind !== "spec") continue;
        if (job.moves) this.#moved(plan);
        // One that was bound while the caps were on their way was there first.
        await this.#takeBack(plan, signal);
        this.#lowered.delete(name);
      }
      this.#show(plan);
      if (job.leavesMore) onMore();
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
    // Done or overtaken: a condition that said so is out of date, and the next pass finds that out.
    this.#failures.delete(name);
  }

  async #take(plan: NodePlan, job: Job, step: Step, signal: AbortSignal): Promise<void> {
    const { state } = this.#options;
    const { name } = plan;
    // At the last moment: a pod bound since the plan was made keeps its node from going down.
    const beforeSending = () => {
      this.#mustLead();
      if (job.needsNoPerformancePods && !(state.current && performancePodsOn(state, name) === 0)) throw new Overtaken();
    };
    try {
      if (step.kind === "spec" && job.lowers && job.needsNoPerformancePods) {
        beforeSending();
        await this.#mustBeFree(name, signal);
        this.#lowered.add(name);
      }
      if (step.kind === "labels") this.#mustBeUncontested(name, step.labels);
      await this.#writes.take(name, step, { signal, beforeSending });
    } catch (error) {
      if (error instanceof Overtaken) throw error;
      if (step.kind === "labels" && isApiError(error, "notFound")) throw new Overtaken();
      if (step.kind === "status" && isApiError(error, "notFound")) state.twinGone(name);
      if (step.kind === "spec" && job.moves && mayHaveHappened(error)) this.#untold.set(name, plan);
      this.#failed(name, step.kind, error, signal);
    }
    if (step.kind === "labels") this.#labelled(name, step.labels);
  }

  #mustBeUncontested(name: string, labels: Readonly<Record<string, string>>): void {
    const rest = this.#contest.restOf(name, labels, this.#options.clock.monotonic());
    if (rest === 0) return;
    this.#queue.addAfter(name, rest);
    throw new Overtaken();
  }

  #labelled(name: string, labels: Readonly<Record<string, string>>): void {
    const { clock, state, news } = this.#options;
    const repeated = this.#contest.wrote(name, labels, clock.monotonic());
    if (repeated === TOLD_AFTER) news.contested(state.node(name), Object.keys(labels));
  }

  /** A watch may be silent for a while before that is noticed: so nothing is lowered without asking the server itself. */
  async #mustBeFree(name: string, signal: AbortSignal): Promise<void> {
    if ((await this.#writes.performancePodsOn(name, signal)) === 0) return;
    this.#queue.addAfter(name, UNSEEN_PODS_RETRY);
    throw new Overtaken();
  }

  #mustLead(): void {
    if (!this.#options.mayWrite()) throw new Overtaken();
  }

  /** Eco caps that came over a performance pod after all go again; the guard would call the pod an intruder and keep them. */
  async #takeBack(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { state, figures, mayWrite } = this.#options;
    const { name, spec, pin, shape } = plan;
    const node = state.node(name);
    if (!this.#lowered.has(name) || node === undefined || performancePodsOn(state, name) === 0 || !mayWrite()) return;
    const { cpu: _cpu, gpu: _gpu, ...rest } = spec;
    const raised = { ...rest, ...capsUnder(pin, shape.caps).performance };
    try {
      await this.#writes.take(
        name,
        { kind: "spec", spec: raised, nodeUid: node.metadata.uid },
        { signal, beforeSending: () => this.#mustLead() },
      );
    } catch (error) {
      if (error instanceof Overtaken) throw error;
      this.#failed(name, "spec", error, signal);
    }
    figures.wrote("spec");
    this.#lowered.delete(name);
    this.#options.onMore();
  }

  #moved(plan: NodePlan): void {
    const { state, figures, news } = this.#options;
    const { transition } = plan.decision;
    this.#untold.delete(plan.name);
    if (transition === undefined) return;
    figures.moved(plan.name, transition);
    news.moved(state.node(plan.name), plan, transition);
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
    if (!signal.aborted) this.#failures.add(name, kind, error, this.#plan?.nodes.get(name)?.decision.transition?.name);
    throw error;
  }
}

/** What was to be written is not wanted any more. */
class Overtaken extends Error {}

/** Differs from node to node and from beat to beat, and yet is the same each time it is asked for. */
const jitterOf = (name: string, lastUpdated: string): number =>
  EARLIEST_HEARTBEAT + (1 - EARLIEST_HEARTBEAT) * (fnv1a32(`${name} ${lastUpdated}`) / 2 ** 32);
