import { isAwake } from "../../core/api/index.ts";
import {
  type ClusterPlan,
  emptyPlanningMemory,
  type PlanningMemory,
  planCluster,
  type Telemetry,
} from "../../core/planning/index.ts";
import { type SleepMemory, withArrivalsSince, withClockSet, withNewTerm } from "../../core/sleep/index.ts";
import {
  elapsed,
  type Instant,
  inSeconds,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
} from "../../core/units/index.ts";
import { type Clock, endsWithin } from "../../platform/clock/index.ts";
import type { ChangeLog, Logger } from "../../platform/log/index.ts";
import type { EventPublisher } from "./events/event-publisher.ts";
import type { SleepEvents } from "./events/sleep-events.ts";
import type { UnknownClassEvents } from "./events/unknown-class-events.ts";
import type { OperatorMetrics } from "./metrics/operator-metrics.ts";
import type { ClusterState } from "./observe/cluster-state.ts";
import { UnconfirmedNodes } from "./observe/unconfirmed-nodes.ts";
import { heartbeatCheck } from "./reconcile/heartbeats.ts";
import type { Reconciler } from "./reconcile/reconciler.ts";
import type { OperatorSettings } from "./settings.ts";

export interface PlanningLoopOptions {
  readonly state: ClusterState;
  readonly settings: OperatorSettings;
  readonly telemetry: () => Telemetry;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly log: Logger;
  readonly changes: ChangeLog;
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  readonly unknownClasses: UnknownClassEvents;
  readonly sleepEvents: SleepEvents;
  readonly interval: Milliseconds;
}

/** Changes within this time are planned together. It also gives a pod that was bound just before a label change time to appear. */
const COALESCE = milliseconds(1000);
/** Passes use at most a tenth of a core, however often the cluster changes. */
const PAUSE_PER_PASS = 10;
/** A pending performance pod may wait for a promotion, so its pass comes sooner, at up to a quarter of a core. */
const URGENT_COALESCE = milliseconds(200);
const PAUSE_PER_URGENT_PASS = 3;
/** The loop counts as stalled when the last pass is this many intervals old. */
const STALLED_INTERVALS = 3;
const STALLED_AT_LEAST = 60_000;
/** A smaller difference between the clocks is a clock that time synchronisation slows down or speeds up. */
const CLOCK_SET = 1000;

/** Plans once per interval and soon after each relevant change. */
export class PlanningLoop {
  readonly #options: PlanningLoopOptions;
  readonly #unconfirmed: UnconfirmedNodes;
  #memory: PlanningMemory = emptyPlanningMemory;
  #wake = Promise.withResolvers<void>();
  #urgent = Promise.withResolvers<void>();
  #plan: ClusterPlan | undefined;
  #lastPass: MonotonicInstant | undefined;
  #lastPassFailed = false;
  /** Wall-clock time minus monotonic time. It changes when the clock is set. */
  #clockOffset: number | undefined;

  constructor(options: PlanningLoopOptions) {
    this.#options = options;
    this.#unconfirmed = new UnconfirmedNodes(options.ioClock, () => this.requestUrgently());
  }

  get plan(): ClusterPlan | undefined {
    return this.#plan;
  }

  /** Takes note that the arrivals of pods are known from this time on. */
  arrivalsKnownSince(since: Instant): void {
    this.#setSleepMemory(withArrivalsSince(this.#memory.sleep, since));
  }

  request(): void {
    this.#wake.resolve();
  }

  requestUrgently(): void {
    this.#wake.resolve();
    this.#urgent.resolve();
  }

  get stalled(): string | undefined {
    const { clock, interval } = this.#options;
    if (this.#lastPass === undefined) return undefined;
    const since = elapsed(this.#lastPass, clock.monotonic());
    return since > Math.max(STALLED_INTERVALS * interval, STALLED_AT_LEAST)
      ? `the last pass was ${Math.round(inSeconds(since))} s ago`
      : undefined;
  }

  /** Runs while this replica leads: plans and submits the plans to the reconciler until the term ends. */
  async run(reconciler: Reconciler, ready: Promise<void>, term: AbortSignal): Promise<void> {
    const { metrics, events } = this.#options;
    this.#setSleepMemory(withNewTerm(this.#memory.sleep));
    const ended = new AbortController();
    const refreshing = this.#refreshTwins(reconciler, AbortSignal.any([term, ended.signal]));
    try {
      await ready;
      for (;;) {
        this.#wake = Promise.withResolvers();
        this.#urgent = Promise.withResolvers();
        const took = this.#pass(reconciler);
        await this.#untilNext(took, term);
      }
    } catch (error) {
      if (!term.aborted) throw error;
    } finally {
      this.#lastPass = undefined;
      this.#unconfirmed.clear();
      // From now on another replica knows the current state.
      this.#plan = undefined;
      metrics.keepOnly(new Set());
      events.keepOnly(new Set());
      ended.abort();
      await refreshing;
    }
  }

  /** Waits for the interval, or for a relevant change and then a moment for further ones. */
  async #untilNext(took: Milliseconds, term: AbortSignal): Promise<void> {
    const { clock, interval } = this.#options;
    const woken = await endsWithin(clock, interval, this.#wake.promise, term);
    term.throwIfAborted();
    if (!woken) return;
    const coalesce = milliseconds(Math.max(COALESCE, took * PAUSE_PER_PASS));
    const isUrgent = await endsWithin(clock, coalesce, this.#urgent.promise, term);
    term.throwIfAborted();
    if (isUrgent) await clock.sleep(milliseconds(Math.max(URGENT_COALESCE, took * PAUSE_PER_URGENT_PASS)), term);
  }

  async #refreshTwins(reconciler: Reconciler, signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options;
    const pause = heartbeatCheck(settings.heartbeat);
    try {
      for (;;) {
        await clock.sleep(pause, signal);
        reconciler.publishState(!this.#lastPassFailed && this.stalled === undefined);
        reconciler.refreshDueTwins();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #pass(reconciler: Reconciler): Milliseconds {
    const { state, settings, telemetry, clock, ioClock, log, metrics, unknownClasses, sleepEvents } = this.#options;
    const started = ioClock.monotonic();
    this.#followClock();
    try {
      const next = planCluster({
        snapshot: state,
        settings,
        telemetry: telemetry(),
        memory: this.#memory,
        arrivals: state.arrivals,
        sleep: state.sleep,
        unconfirmed: this.#unconfirmed.overdue,
        now: clock.now(),
      });
      this.#memory = next.memory;
      this.#reportUnconfirmed(next);
      this.#report(next);
      unknownClasses.report(state.podsOfUnknownClass(), next.at);
      sleepEvents.report(next, this.#plan, (name) => state.node(name));
      this.#plan = next;
      reconciler.submit(next);
      this.#lastPassFailed = false;
    } catch (err) {
      this.#lastPassFailed = true;
      // The loop goes on after an error, because the state that caused it may change.
      log.error({ err }, "planning pass failed; the next pass retries");
    }
    const took = elapsed(started, ioClock.monotonic());
    metrics.observePass(inSeconds(took));
    this.#lastPass = clock.monotonic();
    return took;
  }

  /** Nodes whose agents did not confirm in time become eco in the next pass, and other nodes are promoted. */
  #reportUnconfirmed(plan: ClusterPlan): void {
    const { state, events, changes } = this.#options;
    const { newlyOverdue, hasChanged } = this.#unconfirmed.update(plan);
    for (const node of newlyOverdue) {
      events.capsNotConfirmed(state.node(node.name), node, state.waitingPerformancePods());
      changes.observe("raised caps", node.name, "not confirmed by the agent");
    }
    if (hasChanged) this.requestUrgently();
  }

  /** Otherwise every node would have been empty for hours after the clock was set forward. */
  #followClock(): void {
    const { clock } = this.#options;
    const offset = clock.now() - clock.monotonic();
    this.#clockOffset ??= offset;
    const by = offset - this.#clockOffset;
    if (Math.abs(by) < CLOCK_SET) return;
    this.#clockOffset = offset;
    this.#setSleepMemory(withClockSet(this.#memory.sleep, milliseconds(by)));
  }

  #setSleepMemory(sleep: SleepMemory): void {
    this.#memory = { ...this.#memory, sleep };
  }

  #report({ nodes, current, fit, queued, at }: ClusterPlan): void {
    const { state, settings, changes, metrics, events } = this.#options;
    metrics.recordFit(fit);
    if (settings.readsShapes)
      for (const pool of ["cpu", "gpu"] as const) changes.observe("queue", pool, queued[pool] ? "waiting" : "none");
    const names = new Set(nodes.keys());
    metrics.keepOnly(names);
    events.keepOnly(names);
    let asleep = 0;
    for (const node of nodes.values()) {
      const { name, seen, decision, performancePods } = node;
      if (!isAwake(node.twin?.status)) asleep++;
      changes.observe("state", name, seen.state);
      changes.observe("planned profile", name, node.planned);
      const intruders = performancePods === undefined ? undefined : (decision.intruders ?? 0);
      metrics.recordPlan(node, intruders);
      const published = state.node(name);
      if (published !== undefined) metrics.recordState(published, seen.state, settings);
      if (intruders !== undefined) events.performancePodsOnEco(published, name, intruders);
    }
    metrics.recordAsleep(asleep);
    metrics.recordEnergy(nodes.values(), at);
    const lists = current ? "current" : `not current: ${state.outdated.join(", ")}; no node is downgraded`;
    changes.observe("lists", "cluster", lists);
    changes.flush();
  }
}
