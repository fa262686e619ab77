import {
  elapsed,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import type { Journal } from "../../../platform/journal/index.ts";
import type { ChangeLog, Logger } from "../../../platform/log/index.ts";
import { rejectIfHung } from "../loop/deadlines.ts";
import type { NodeRunner } from "../loop/node-runner.ts";
import { stalledFor } from "../loop/single-node-loop.ts";
import { publishedTarget } from "../loop/target.ts";
import type { AgentMetrics } from "../report/agent-metrics.ts";
import type { CapEventPublisher } from "../report/cap-event-publisher.ts";
import type { NodeFactsSource } from "../watch/node-facts.ts";
import { isUnresponsive, retryDelay, untilNextTick } from "./tick-schedule.ts";

export interface PoolLoopOptions {
  readonly view: NodeFactsSource & { ownsNode(name: string): boolean };
  readonly journal: Journal;
  readonly runnerOf: (name: string) => NodeRunner;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly changes: ChangeLog;
  readonly metrics: AgentMetrics;
  readonly events: CapEventPublisher;
  readonly interval: Milliseconds;
  /** Breaks off ticks, some time after the loop is to end. */
  readonly forceStop: AbortSignal;
}

/** Nodes whose ticks are under way at once. */
const PARALLEL = 64;
/** A tick that is not over by then no longer counts among them: its node is slow, and the others must not wait for it. */
const PATIENCE = milliseconds(500);
/** Ticks under way in all. */
const MOST_OPEN = 2048;
const COALESCE = milliseconds(250);

interface Slot {
  readonly runner: NodeRunner;
  timer: Timer | undefined;
  /** In line, or under way. */
  busy: boolean;
  /** Asked for while it was busy. */
  again: boolean;
  /** Ticks in a row without an answer. */
  silent: number;
}

/**
 * Ticks for thousands of nodes: each at its own time of the interval, a bounded number at once, and none of them waiting for one
 * that does not answer.
 */
export class PoolLoop {
  readonly #options: PoolLoopOptions;
  readonly #slots = new Map<string, Slot>();
  #line: string[] = [];
  #counted = 0;
  #open = 0;
  readonly #ticks = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #lastPass: MonotonicInstant | undefined;
  #surveyed: Timer | undefined;

  constructor(options: PoolLoopOptions) {
    this.#options = options;
  }

  get stalled(): string | undefined {
    const { clock, interval } = this.#options;
    return stalledFor(this.#lastPass, clock, interval);
  }

  runners(): Iterable<NodeRunner> {
    return Array.from(this.#slots.values(), ({ runner }) => runner);
  }

  runner(name: string): NodeRunner | undefined {
    return this.#slots.get(name)?.runner;
  }

  /** The node's target, or everybody's route, may have changed. */
  request(name: string | undefined): void {
    if (name === undefined) for (const slot of this.#slots.values()) this.#soon(slot);
    else {
      const slot = this.#slots.get(name);
      if (slot !== undefined) this.#soon(slot);
    }
    this.#surveyed ??= this.#options.clock.after(COALESCE, () => {
      this.#surveyed = undefined;
      this.#survey();
    });
  }

  /** Until the signal ends it; what is under way then has a while to end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, ioClock, interval, changes, forceStop } = this.#options;
    try {
      for (;;) {
        this.#survey();
        changes.flush();
        this.#lastPass = clock.monotonic();
        await clock.sleep(interval, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#stop.abort(signal.reason);
      this.#surveyed?.cancel();
      for (const { timer } of this.#slots.values()) timer?.cancel();
      this.#line = [];
      await rejectIfHung(Promise.all(this.#ticks), forceStop, ioClock).catch(() => undefined);
    }
  }

  /** A few at a time. */
  async each(work: (runner: NodeRunner) => Promise<void>): Promise<void> {
    const left = [...this.runners()];
    const worker = async (): Promise<void> => {
      for (let runner = left.pop(); runner !== undefined; runner = left.pop()) await work(runner);
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  }

  /** Whose nodes these are by now. A node that left keeps its place until nothing of ours is in force on it. */
  #survey(): void {
    const { view, journal, runnerOf, clock, interval } = this.#options;
    if (this.#stop.signal.aborted) return;
    // Before the cluster was read, those whose originals are kept are all that is known of: their lease may run out.
    const known = view.notSynced.length === 0;
    const names = new Set(known ? view.names() : []);
    for (const { node } of journal.entries()) {
      if (node === undefined || names.has(node)) continue;
      if (known && this.#isTaken(node)) this.#disown(node);
      else if (known || view.ownsNode(node)) names.add(node);
    }
    for (const [name, slot] of this.#slots) {
      if (known && !names.has(name) && !slot.busy && !slot.runner.control.hasLimitsInForce) this.#remove(name, slot);
    }
    for (const name of names) {
      if (this.#slots.has(name)) continue;
      const slot = { runner: runnerOf(name), timer: undefined, busy: false, again: false, silent: 0 };
      this.#slots.set(name, slot);
      this.#arm(slot, untilNextTick(name, interval, clock.monotonic()));
    }
  }

  /** Whether another agent's target is, or will soon be, in force there. Where nobody has one, nobody else would restore ours. */
  #isTaken(node: string): boolean {
    const { view } = this.#options;
    return !view.ownsNode(node) && publishedTarget(view.facts(node)) !== undefined;
  }

  /** It is another agent's by now, which sets its own cap: restoring ours would undo it. */
  #disown(node: string): void {
    for (const entry of this.#options.journal.of(node)) this.#options.journal.drop(entry);
  }

  #remove(name: string, { timer }: Slot): void {
    const { metrics, events, changes } = this.#options;
    timer?.cancel();
    this.#slots.delete(name);
    metrics.removeNode(name);
    events.forget(name);
    changes.forget(name);
  }

  #arm(slot: Slot, wait: Milliseconds): void {
    slot.timer?.cancel();
    slot.timer = this.#options.clock.after(wait, () => {
      slot.timer = undefined;
      this.#enqueue(slot);
    });
  }

  #soon(slot: Slot): void {
    if (slot.busy) slot.again = true;
    else this.#arm(slot, COALESCE);
  }

  #enqueue(slot: Slot): void {
    if (slot.busy || this.#stop.signal.aborted) return;
    slot.busy = true;
    this.#line.push(slot.runner.name);
    this.#pump();
  }

  #pump(): void {
    while (this.#counted < PARALLEL && this.#open < MOST_OPEN) {
      const name = this.#line.shift();
      if (name === undefined) return;
      const slot = this.#slots.get(name);
      if (slot === undefined) continue;
      const tick: Promise<void> = this.#tick(slot).finally(() => this.#ticks.delete(tick));
      this.#ticks.add(tick);
    }
  }

  async #tick(slot: Slot): Promise<void> {
    const { clock, metrics, interval } = this.#options;
    const started = clock.monotonic();
    this.#open++;
    this.#counted++;
    let counts = true;
    const discount = () => {
      if (!counts) return;
      counts = false;
      this.#counted--;
      this.#pump();
    };
    const patience = clock.after(PATIENCE, discount);
    const overdue = clock.after(interval, () => metrics.recordSkippedTick("pending"));
    await this.#run(slot);
    patience.cancel();
    overdue.cancel();
    this.#open--;
    slot.busy = false;
    if (!this.#stop.signal.aborted) {
      this.#arm(slot, slot.again ? COALESCE : this.#restOf(slot, started));
      slot.again = false;
    }
    discount();
    this.#pump();
  }

  async #run(slot: Slot): Promise<void> {
    const { log, metrics, forceStop } = this.#options;
    const { runner } = slot;
    try {
      const tick = await runner.tick(forceStop);
      slot.silent = isUnresponsive(tick) ? slot.silent + 1 : 0;
    } catch (err) {
      if (this.#stop.signal.aborted) return;
      log.error({ err, node: runner.name }, "a node's tick failed; the next one tries again");
      metrics.recordFailedTick(runner.name);
    }
  }

  /** From the end of a tick that began at `started` to the next. */
  #restOf({ silent, runner }: Slot, started: MonotonicInstant): Milliseconds {
    const { clock, interval, random, metrics } = this.#options;
    const now = clock.monotonic();
    if (silent > 0) {
      metrics.recordSkippedTick("silent");
      return milliseconds(Math.max(0, retryDelay(silent, interval, random) - elapsed(started, now)));
    }
    // A timer may come a moment early: the turn it came for is not the next.
    const from = monotonicInstant(Math.max(now, started + COALESCE));
    return milliseconds(elapsed(now, from) + untilNextTick(runner.name, interval, from));
  }
}
