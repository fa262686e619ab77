import { type ClusterPlan, type NodePlan, performancePodsOn } from "../../../core/planning/index.ts";
import { capsUnder, type ObservedState, observedStateOf } from "../../../core/policy/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { comesAfter, isApiError } from "../../../platform/kube/index.ts";
import type { EventPublisher } from "../events/event-publisher.ts";
import type { OperatorMetrics } from "../metrics/operator-metrics.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { OperatorSettings } from "../settings.ts";
import { type ApiWriter, WriteSuperseded } from "./api-writer.ts";
import { ConflictTracker } from "./conflict-tracker.ts";
import type { NodeDiff, WriteStep } from "./diff.ts";
import type { PendingWrites } from "./pending-writes.ts";
import { mayHaveSucceeded } from "./write-failures.ts";

export interface PlanWriterOptions {
  readonly writes: ApiWriter;
  readonly clock: Clock;
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  /** What has to be written for a plan, as things are at this moment. */
  readonly jobFor: (plan: NodePlan) => NodeDiff;
  readonly pending: PendingWrites;
  /** A write leaves more to decide: eco caps follow once the node shows eco. */
  readonly requestPass: () => void;
  readonly onFailure: (name: string, step: string, error: unknown, signal: AbortSignal) => void;
  /** Asks to be called for this node again. */
  readonly comeBack: (name: string, after: Milliseconds) => void;
}

/** When a node is looked at again whose pods the watch has not shown yet. */
const UNSEEN_PODS_RETRY = milliseconds(5000);
/** A label that was set back so often is fought for by a program. */
const TOLD_AFTER = 2;

/** Makes the cluster show the plan of one node, step by step, and stops where a step is not wanted any more. */
export class PlanWriter {
  readonly #options: PlanWriterOptions;
  readonly #contest = new ConflictTracker();

  constructor(options: PlanWriterOptions) {
    this.#options = options;
  }

  /** Caps may be in force that a pod has overtaken: the node is to be looked at even if it shows its plan. */
  isUnsure(name: string): boolean {
    return this.#options.pending.ecoCaps.has(name);
  }

  /** A new plan: tells of what has happened since the last one, and forgets the nodes that left. */
  follow({ nodes }: ClusterPlan): void {
    const { ecoCaps: lowerings, transitions: moves } = this.#options.pending;
    for (const [name, plan] of moves) {
      const seen = nodes.get(name)?.seen.state;
      const { from, to } = plan.decision.transition ?? {};
      if (seen === from) continue;
      if (seen === to) this.#moved(plan);
      moves.delete(name);
    }
    this.#contest.keepOnly(nodes);
    for (const name of lowerings.keys()) if (!nodes.has(name)) lowerings.delete(name);
  }

  /** Throws Overtaken where it is not wanted any more, and whatever a write throws. */
  async publish(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { metrics: figures, jobFor, requestPass: onMore } = this.#options;
    await this.#confirm(plan, signal);
    const job = jobFor(plan);
    for (const step of job.steps) {
      await this.#take(plan, job, step, signal);
      figures.countWrite(step.kind === "status" && step.heartbeat ? "heartbeat" : step.kind);
      if (step.kind !== "spec") continue;
      if (job.changesState) this.#moved(plan);
      // One that was bound while the caps were on their way was there first.
      await this.#confirm(plan, signal);
    }
    this.#show(plan);
    if (job.needsAnotherPass) onMore();
  }

  async #take(plan: NodePlan, job: NodeDiff, step: WriteStep, signal: AbortSignal): Promise<void> {
    const { state, writes, pending: unconfirmed, onFailure } = this.#options;
    const { name } = plan;
    const lowers = step.kind === "spec" && job.lowersCaps && job.needsNoPerformancePods;
    // Eco caps are for the twin as it is known now and no other: whatever is written to it meanwhile keeps them out.
    const version = state.twin(name)?.metadata.resourceVersion;
    let sent = false;
    // At the last moment: a pod bound since the plan was made keeps its node from going down.
    const beforeSending = () => {
      if (job.needsNoPerformancePods && !(state.current && performancePodsOn(state, name) === 0))
        throw new WriteSuperseded();
      if (lowers) unconfirmed.ecoCaps.set(name, version ?? "");
      sent = true;
    };
    try {
      if (lowers) await this.#mustBeFree(name, signal);
      if (step.kind === "labels") this.#mustBeUncontested(name, step.labels);
      const own = lowers ? { ...step, resourceVersion: version } : step;
      await writes.send(name, own, { signal, beforeSending });
    } catch (error) {
      if (error instanceof WriteSuperseded) throw error;
      if (step.kind === "labels" && isApiError(error, "notFound")) throw new WriteSuperseded();
      if (step.kind === "status" && isApiError(error, "notFound")) state.recordTwinDeletion(name);
      const mayBeThere = sent && (signal.aborted || mayHaveSucceeded(error));
      if (step.kind === "spec" && job.changesState && (mayBeThere || this.#isThere(plan)))
        unconfirmed.transitions.set(name, plan);
      onFailure(name, step.kind, error, signal);
      throw error;
    }
    if (step.kind === "labels") this.#labelled(name, step.labels);
  }

  #mustBeUncontested(name: string, labels: Readonly<Record<string, string>>): void {
    const rest = this.#contest.backoffOf(name, labels, this.#options.clock.monotonic());
    if (rest === 0) return;
    this.#options.comeBack(name, rest);
    throw new WriteSuperseded();
  }

  #labelled(name: string, labels: Readonly<Record<string, string>>): void {
    const { clock, state, events: news } = this.#options;
    const repeated = this.#contest.recordWrite(name, labels, clock.monotonic());
    if (repeated === TOLD_AFTER) news.labelConflict(state.node(name), Object.keys(labels));
  }

  /** A watch may be silent for a while before that is noticed: so nothing is lowered without asking the server itself. */
  async #mustBeFree(name: string, signal: AbortSignal): Promise<void> {
    const { writes, comeBack } = this.#options;
    if ((await writes.performancePodsOn(name, signal)) === 0) return;
    comeBack(name, UNSEEN_PODS_RETRY);
    throw new WriteSuperseded();
  }

  /**
   * Finds out what became of eco caps that were sent. Where they came over a performance pod after all they go again: the guard
   * would call the pod an intruder and keep them.
   */
  async #confirm(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { state, pending: unconfirmed } = this.#options;
    const { name } = plan;
    const sentFor = unconfirmed.ecoCaps.get(name);
    if (sentFor === undefined) return;
    if (this.#seen(plan)?.caps === "eco" && performancePodsOn(state, name) > 0) await this.#takeBack(plan, signal);
    // They were for one version of the twin: once there is a later one they are in it and nobody is under them, or they never come.
    const version = state.twin(name)?.metadata.resourceVersion;
    if (version === undefined || comesAfter(version, sentFor) === true) unconfirmed.ecoCaps.delete(name);
  }

  /** The same target with the caps of performance: where the node goes from there is the plan's to say. */
  async #takeBack({ name, managed: { pin, shape } }: NodePlan, signal: AbortSignal): Promise<void> {
    const { state, metrics: figures, writes, onFailure, requestPass: onMore } = this.#options;
    const [node, twin] = [state.node(name), state.twin(name)];
    if (node === undefined || twin === undefined) return;
    const { cpu: _cpu, gpu: _gpu, ...rest } = twin.spec;
    const spec = { ...rest, ...capsUnder(pin, shape.caps).performance };
    try {
      const step = { kind: "spec", spec, nodeUid: node.metadata.uid } as const;
      await writes.send(name, step, { signal });
    } catch (error) {
      if (!(error instanceof WriteSuperseded)) onFailure(name, "spec", error, signal);
      throw error;
    }
    figures.countWrite("spec");
    onMore();
  }

  #moved(plan: NodePlan): void {
    const { state, metrics: figures, events: news, pending: unconfirmed } = this.#options;
    const { transition } = plan.decision;
    unconfirmed.transitions.delete(plan.name);
    if (transition === undefined) return;
    figures.countTransition(plan.name, transition);
    news.profileChanged(state.node(plan.name), plan, transition);
  }

  #show(plan: NodePlan): void {
    const { state, settings, metrics: figures } = this.#options;
    const node = state.node(plan.name);
    const seen = this.#seen(plan);
    if (node !== undefined && seen !== undefined) figures.recordState(node, seen.state, settings);
  }

  #isThere(plan: NodePlan): boolean {
    return this.#seen(plan)?.state === plan.next.state;
  }

  #seen({ name, managed: { shape, pin } }: NodePlan): ObservedState | undefined {
    const { state, settings } = this.#options;
    const node = state.node(name);
    const powerProfileLabel = settings.labels.powerProfile;
    return node && observedStateOf(node, state.twin(name), { caps: shape.caps, pin, powerProfileLabel });
  }
}
