import { type ClusterPlan, PlanCache, PowerTrends, planCluster, type Telemetry } from "../../core/planning/index.ts";
import { elapsed, inSeconds, type Milliseconds, type MonotonicInstant, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { ChangeLog, Logger } from "../../platform/log/index.ts";
import type { EventPublisher } from "./events/event-publisher.ts";
import type { UnknownClassEvents } from "./events/unknown-class-events.ts";
import type { OperatorMetrics } from "./metrics/operator-metrics.ts";
import type { ClusterState } from "./observe/cluster-state.ts";
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
  readonly interval: Milliseconds;
}

/** Changes that come within this time are one pass. It is also what a pod bound just before a label changed gets to be seen. */
const COALESCE = milliseconds(1000);
/** Passes take a tenth of a core at most, however much happens. */
const PAUSE_PER_PASS = 10;
const BEAT = milliseconds(5000);
/** A pass that is late by so many intervals will not come. */
const LATE_INTERVALS = 3;
const LATE_AT_LEAST = 60_000;

/** Plans each interval, and soon after a change that matters. */
export class PlanningLoop {
  readonly #options: PlanningLoopOptions;
  readonly #cache = new PlanCache();
  readonly #trends = new PowerTrends();
  #wake = Promise.withResolvers<void>();
  #plan: ClusterPlan | undefined;
  #lastPass: MonotonicInstant | undefined;

  constructor(options: PlanningLoopOptions) {
    this.#options = options;
  }

  /** The last plan that was made here. */
  get plan(): ClusterPlan | undefined {
    return this.#plan;
  }

  /** Asks for a pass soon. */
  request(): void {
    this.#wake.resolve();
  }

  /** Why it seems to stand still; undefined when it does not. */
  get stalled(): string | undefined {
    const { clock, interval } = this.#options;
    if (this.#lastPass === undefined) return undefined;
    const since = elapsed(this.#lastPass, clock.monotonic());
    return since > Math.max(LATE_INTERVALS * interval, LATE_AT_LEAST)
      ? `the last pass was ${Math.round(inSeconds(since))} s ago`
      : undefined;
  }

  /** Leads: once it is ready, plans and has the plans written, until the term ends. */
  async run(writer: Reconciler, ready: Promise<void>, term: AbortSignal): Promise<void> {
    const { metrics: figures, events: news } = this.#options;
    const over = new AbortController();
    const beats = this.#beat(writer, AbortSignal.any([term, over.signal]));
    try {
      await ready;
      for (;;) {
        this.#wake = Promise.withResolvers();
        const took = this.#pass(writer);
        await this.#untilNext(milliseconds(Math.max(COALESCE, took * PAUSE_PER_PASS)), term);
      }
    } catch (error) {
      if (!term.aborted) throw error;
    } finally {
      this.#lastPass = undefined;
      // From now on another replica knows better what each node is.
      this.#plan = undefined;
      figures.keepOnly(new Set());
      news.keepOnly(new Set());
      over.abort();
      await beats;
    }
  }

  /** For the interval, or until something matters, and then for as long as more of it is taken in. */
  async #untilNext(coalesce: Milliseconds, term: AbortSignal): Promise<void> {
    const { clock, interval } = this.#options;
    const over = new AbortController();
    const tick = clock.sleep(interval, AbortSignal.any([term, over.signal])).catch(() => undefined);
    const woken = await Promise.race([tick.then(() => false), this.#wake.promise.then(() => true)]);
    over.abort();
    term.throwIfAborted();
    if (woken) await clock.sleep(coalesce, term);
  }

  async #beat(writer: Reconciler, signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options;
    const pause = milliseconds(Math.min(BEAT, settings.heartbeat / 10));
    try {
      for (;;) {
        await clock.sleep(pause, signal);
        writer.refreshDueTwins();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Gives the time it took. */
  #pass(writer: Reconciler): Milliseconds {
    const { state, settings, telemetry, clock, ioClock, log, metrics: figures, unknownClasses } = this.#options;
    const started = ioClock.monotonic();
    try {
      const next = planCluster({
        snapshot: state,
        settings,
        telemetry: telemetry(),
        trends: this.#trends,
        cache: this.#cache,
        now: clock.now(),
      });
      this.#tell(next, this.#plan);
      unknownClasses.report(state.podsOfUnknownClass(), next.at);
      this.#plan = next;
      writer.submit(next);
    } catch (err) {
      // One that cannot be planned must not be the last: what is wrong with the state may pass.
      log.error({ err }, "a pass failed; the next one tries again");
    }
    const took = elapsed(started, ioClock.monotonic());
    figures.observePass(inSeconds(took));
    this.#lastPass = clock.monotonic();
    return took;
  }

  /** What is the same as in the pass before was told then; only the log wants to hear of every node, or it forgets it. */
  #tell({ nodes, current }: ClusterPlan, before: ClusterPlan | undefined): void {
    const { state, settings, changes, metrics: figures, events: news } = this.#options;
    const names = new Set(nodes.keys());
    figures.keepOnly(names);
    news.keepOnly(names);
    for (const node of nodes.values()) {
      const { name, seen, decision, performancePods } = node;
      changes.observe("state", name, seen.state);
      changes.observe("planned profile", name, node.planned);
      if (before?.nodes.get(name) === node) continue;
      const intruders = performancePods === undefined ? undefined : (decision.intruders ?? 0);
      figures.recordPlan(node, intruders);
      const shown = state.node(name);
      if (shown !== undefined) figures.recordState(shown, seen.state, settings);
      if (intruders !== undefined) news.performancePodsOnEco(shown, name, intruders);
    }
    const lists = current ? "current" : `not current: ${state.outdated.join(", ")}; no node goes down`;
    changes.observe("lists", "cluster", lists);
    changes.flush();
  }
}
