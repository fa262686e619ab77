import { type ClusterPlan, isNodeOccupied, type NodePlan, performancePodsOn } from "../../../core/planning/index.ts";
import { type ObservedState, observedStateOf } from "../../../core/policy/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { comesAfter, isApiError } from "../../../platform/kube/index.ts";
import type { EventPublisher } from "../events/event-publisher.ts";
import type { OperatorMetrics } from "../metrics/operator-metrics.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { OperatorSettings } from "../settings.ts";
import { type ApiWriter, FailedStep, WriteSuperseded } from "./api-writer.ts";
import { ConflictTracker } from "./conflict-tracker.ts";
import type { NodeDiff, WriteStep } from "./diff.ts";
import { mayHaveSucceeded } from "./write-failures.ts";

/** Writes that were sent but not confirmed, by node. They outlive the term: a server that hung may still execute them. */
export class PendingWrites {
  /** Eco caps, with the resourceVersion of the twin that they were sent for. The server rejects them for any other version. */
  readonly ecoCaps = new Map<string, string>();
  /** State transitions. A later plan shows whether they took place. */
  readonly transitions = new Map<string, NodePlan>();
}

export interface PlanWriterOptions {
  readonly api: ApiWriter;
  readonly diff: (plan: NodePlan) => NodeDiff;
  readonly clock: Clock;
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  readonly pending: PendingWrites;
  readonly requestPass: () => void;
}

/** Delay before a node is tried again whose pods on the server are not in the watch yet. */
const UNSEEN_PODS_RETRY = milliseconds(5000);
/** A label that was reset this often has a conflicting writer. */
const CONFLICTS_BEFORE_EVENT = 2;

/** Writes the plan of one node in ordered steps, and stops when a step is superseded. */
export class PlanWriter {
  readonly #options: PlanWriterOptions;
  readonly #conflicts = new ConflictTracker();

  constructor(options: PlanWriterOptions) {
    this.#options = options;
  }

  /** Eco caps may be in force although a performance pod arrived meanwhile. The node must be checked even without a diff. */
  hasPendingEcoCaps(name: string): boolean {
    return this.#options.pending.ecoCaps.has(name);
  }

  settlePending({ nodes }: ClusterPlan): void {
    const { ecoCaps, transitions } = this.#options.pending;
    for (const [name, plan] of transitions) {
      const state = nodes.get(name)?.seen.state;
      const { from, to } = plan.decision.transition ?? {};
      if (state === from) continue;
      if (state === to) this.#reportTransition(plan);
      transitions.delete(name);
    }
    this.#conflicts.keepOnly(nodes);
    for (const name of ecoCaps.keys()) if (!nodes.has(name)) ecoCaps.delete(name);
  }

  /** Throws WriteSuperseded if the plan no longer applies, and FailedStep if a write fails. */
  async write(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { metrics, requestPass } = this.#options;
    await this.#settleEcoCaps(plan, signal);
    const diff = this.#options.diff(plan);
    for (const step of diff.steps) {
      await this.#writeStep(plan, diff, step, signal);
      metrics.countWrite(step.kind === "status" && step.heartbeat ? "heartbeat" : step.kind);
      if (step.kind !== "spec") continue;
      if (diff.changesState) this.#reportTransition(plan);
      // A performance pod may have been bound while the caps were being written.
      await this.#settleEcoCaps(plan, signal);
    }
    this.#updateStateMetric(plan);
    if (diff.needsAnotherPass) requestPass();
  }

  async #writeStep(plan: NodePlan, diff: NodeDiff, step: WriteStep, signal: AbortSignal): Promise<void> {
    const { state, api, pending } = this.#options;
    const { name } = plan;
    const lowersCaps = step.kind === "spec" && diff.lowersCaps && diff.needsNoPerformancePods;
    // Eco caps are valid only for the known version of the twin: any write in between makes the server reject them.
    const version = state.twin(name)?.metadata.resourceVersion;
    let sent = false;
    // Checked at the last moment: a pod bound since the plan was made keeps its node from being downgraded.
    const switchesOff =
      step.kind === "spec" && step.spec.power?.state === "off" && state.twin(name)?.spec.power?.state !== "off";
    const beforeSending = () => {
      if (switchesOff && !this.#mayBeAskedToSleep(name)) throw new WriteSuperseded();
      if (diff.needsNoPerformancePods && !(state.current && performancePodsOn(state, name) === 0))
        throw new WriteSuperseded();
      if (lowersCaps) pending.ecoCaps.set(name, version ?? "");
      sent = true;
    };
    try {
      if (lowersCaps) await this.#requireNoPerformancePods(name, signal);
      if (step.kind === "labels") this.#requireNoConflict(name, step.labels);
      await api.send(name, lowersCaps ? { ...step, resourceVersion: version } : step, { signal, beforeSending });
    } catch (error) {
      if (error instanceof WriteSuperseded) throw error;
      if (step.kind === "labels" && isApiError(error, "notFound")) throw new WriteSuperseded();
      if (step.kind === "status" && isApiError(error, "notFound")) state.recordTwinDeletion(name);
      const isUncertain = sent && (signal.aborted || mayHaveSucceeded(error));
      const isDone = () => this.#observedState(plan)?.state === plan.next.state;
      if (step.kind === "spec" && diff.changesState && (isUncertain || isDone())) pending.transitions.set(name, plan);
      throw new FailedStep(step.kind, error);
    }
    if (step.kind === "labels") this.#recordLabels(name, step.labels);
  }

  #mayBeAskedToSleep(name: string): boolean {
    const { state } = this.#options;
    return state.current && state.sleep?.current === true && !isNodeOccupied(name, state, state.sleep);
  }

  #requireNoConflict(name: string, labels: Readonly<Record<string, string>>): void {
    const backoff = this.#conflicts.backoffOf(name, labels, this.#options.clock.monotonic());
    if (backoff > 0) throw new WriteSuperseded(backoff);
  }

  #recordLabels(name: string, labels: Readonly<Record<string, string>>): void {
    const { clock, state, events } = this.#options;
    const repeated = this.#conflicts.recordWrite(name, labels, clock.monotonic());
    if (repeated === CONFLICTS_BEFORE_EVENT) events.labelConflict(state.node(name), Object.keys(labels));
  }

  /** Asks the API server, because a watch may be silent for a while before the operator notices. */
  async #requireNoPerformancePods(name: string, signal: AbortSignal): Promise<void> {
    if ((await this.#options.api.performancePodsOn(name, signal)) > 0) throw new WriteSuperseded(UNSEEN_PODS_RETRY);
  }

  /**
   * Checks the outcome of eco caps that were sent. If a performance pod arrived before they took effect, the caps are withdrawn:
   * the guard would treat the pod as an intruder and keep them.
   */
  async #settleEcoCaps(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { state, pending } = this.#options;
    const { name } = plan;
    const sentFor = pending.ecoCaps.get(name);
    if (sentFor === undefined) return;
    if (this.#observedState(plan)?.caps === "eco" && performancePodsOn(state, name) > 0)
      await this.#withdrawEcoCaps(plan, signal);
    // They were for one version of the twin. A later version either contains them, with no pod under them, or excludes them.
    const version = state.twin(name)?.metadata.resourceVersion;
    if (version === undefined || comesAfter(version, sentFor) === true) pending.ecoCaps.delete(name);
  }

  /** Writes the same target with performance caps. The next plan decides about the profile. */
  async #withdrawEcoCaps({ name, managed }: NodePlan, signal: AbortSignal): Promise<void> {
    const { state, metrics, api, requestPass } = this.#options;
    const [node, twin] = [state.node(name), state.twin(name)];
    if (node === undefined || twin === undefined) return;
    const { cpu: _cpu, gpu: _gpu, ...rest } = twin.spec;
    const spec = { ...rest, ...managed.caps.performance };
    try {
      await api.send(name, { kind: "spec", spec, nodeUid: node.metadata.uid }, { signal });
    } catch (error) {
      throw error instanceof WriteSuperseded ? error : new FailedStep("spec", error);
    }
    metrics.countWrite("spec");
    requestPass();
  }

  #reportTransition(plan: NodePlan): void {
    const { state, metrics, events, pending } = this.#options;
    const { transition } = plan.decision;
    pending.transitions.delete(plan.name);
    if (transition === undefined) return;
    metrics.countTransition(plan.name, transition);
    events.profileChanged(state.node(plan.name), plan, transition);
  }

  #updateStateMetric(plan: NodePlan): void {
    const { state, settings, metrics } = this.#options;
    const node = state.node(plan.name);
    const observed = this.#observedState(plan);
    if (node !== undefined && observed !== undefined) metrics.recordState(node, observed.state, settings);
  }

  #observedState({ name, managed: { caps } }: NodePlan): ObservedState | undefined {
    const { state, settings } = this.#options;
    const node = state.node(name);
    const powerProfileLabel = settings.labels.powerProfile;
    return node && observedStateOf(node, state.twin(name), { caps, powerProfileLabel });
  }
}
