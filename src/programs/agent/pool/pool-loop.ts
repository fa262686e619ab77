import { fnv1a32 } from "../../../core/control/index.ts";
import {
  elapsed,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type RandomSource,
} from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import type { Journal } from "../../../platform/journal/index.ts";
import type { ChangeLog, Logger } from "../../../platform/log/index.ts";
import { isUnresponsive } from "../loop/node-control.ts";
import type { NodeRunner } from "../loop/node-runner.ts";
import { rejectIfHung } from "../loop/shutdown-times.ts";
import { stalledFor } from "../loop/single-node-loop.ts";
import { publishedTarget } from "../loop/target.ts";
import type { AgentMetrics } from "../report/agent-metrics.ts";
import type { CapEventPublisher } from "../report/cap-event-publisher.ts";
import type { NodeFactsSource } from "../watch/node-facts.ts";

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
  readonly forceStop: AbortSignal;
}

const PARALLEL = 64;
/** After this time a tick no longer counts as one of them, so that slow nodes do not delay the others. */
const SLOW_AFTER = milliseconds(500);
const MAX_OPEN = 2048;
const COALESCE = milliseconds(250);

interface Slot {
  readonly runner: NodeRunner;
  timer: Timer | undefined;
  busy: boolean;
  /** Requested while it was busy. */
  again: boolean;
  silent: number;
}

/** Runs the ticks of thousands of nodes, each at its own time within the interval, without waiting for nodes that do not answer. */
export class PoolLoop {
  readonly #options: PoolLoopOptions;
  readonly #slots = new Map<string, Slot>();
  #queue: string[] = [];
  #counted = 0;
  #open = 0;
  readonly #ticks = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #lastPass: MonotonicInstant | undefined;
  #refreshTimer: Timer | undefined;

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

  /** The target of the node, or with undefined the route of all nodes, may have changed. */
  request(name: string | undefined): void {
    if (name === undefined) for (const slot of this.#slots.values()) this.#tickSoon(slot);
    else {
      const slot = this.#slots.get(name);
      if (slot !== undefined) this.#tickSoon(slot);
    }
    this.#refreshTimer ??= this.#options.clock.after(COALESCE, () => {
      this.#refreshTimer = undefined;
      this.#refreshNodes();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, ioClock, interval, changes, forceStop } = this.#options;
    try {
      for (;;) {
        this.#refreshNodes();
        changes.flush();
        this.#lastPass = clock.monotonic();
        await clock.sleep(interval, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#stop.abort(signal.reason);
      this.#refreshTimer?.cancel();
      for (const { timer } of this.#slots.values()) timer?.cancel();
      this.#queue = [];
      await rejectIfHung(Promise.all(this.#ticks), forceStop, ioClock).catch(() => undefined);
    }
  }

  /** Calls `work` for all nodes, a bounded number at a time. */
  async each(work: (runner: NodeRunner) => Promise<void>): Promise<void> {
    const left = [...this.runners()];
    const worker = async (): Promise<void> => {
      for (let runner = left.pop(); runner !== undefined; runner = left.pop()) await work(runner);
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  }

  /** Adds and removes nodes. A node that left stays until none of the agent's limits is in force on it. */
  #refreshNodes(): void {
    const { view, journal, runnerOf, clock, interval } = this.#options;
    if (this.#stop.signal.aborted) return;
    // Before the watches have synced only the nodes in the journal are known. Their TARGET_LEASE may expire.
    const synced = view.notSynced.length === 0;
    const names = new Set(synced ? view.names() : []);
    for (const { node } of journal.entries()) {
      if (node === undefined || names.has(node)) continue;
      if (synced && this.#hasOtherAgent(node)) this.#dropEntries(node);
      else if (synced || view.ownsNode(node)) names.add(node);
    }
    for (const [name, slot] of this.#slots) {
      if (synced && !names.has(name) && !slot.busy && !slot.runner.control.hasLimitsInForce) this.#remove(name, slot);
    }
    for (const name of names) {
      if (this.#slots.has(name)) continue;
      const slot = { runner: runnerOf(name), timer: undefined, busy: false, again: false, silent: 0 };
      this.#slots.set(name, slot);
      this.#arm(slot, untilNextTick(name, interval, clock.monotonic()));
    }
  }

  /** Whether another shard's agent enforces a target there. Without a target no other agent would restore the limits. */
  #hasOtherAgent(node: string): boolean {
    const { view, clock } = this.#options;
    return !view.ownsNode(node) && publishedTarget(view.facts(node), clock.now()) !== undefined;
  }

  /** For a node that belongs to another agent now, which sets its own cap, or whose machine is off: nothing is restored. */
  #dropEntries(node: string): void {
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

  #tickSoon(slot: Slot): void {
    if (slot.busy) slot.again = true;
    else this.#arm(slot, COALESCE);
  }

  #enqueue(slot: Slot): void {
    if (slot.busy || this.#stop.signal.aborted) return;
    slot.busy = true;
    this.#queue.push(slot.runner.name);
    this.#pump();
  }

  #pump(): void {
    while (this.#counted < PARALLEL && this.#open < MAX_OPEN) {
      const name = this.#queue.shift();
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
    let isCounted = true;
    const uncount = () => {
      if (!isCounted) return;
      isCounted = false;
      this.#counted--;
      this.#pump();
    };
    const slow = clock.after(SLOW_AFTER, uncount);
    const overdue = clock.after(interval, () => metrics.recordSkippedTick("pending"));
    await this.#run(slot);
    slow.cancel();
    overdue.cancel();
    this.#open--;
    slot.busy = false;
    if (!this.#stop.signal.aborted) {
      this.#arm(slot, slot.again ? COALESCE : this.#waitAfter(slot, started));
      slot.again = false;
    }
    uncount();
    this.#pump();
  }

  async #run(slot: Slot): Promise<void> {
    const { log, metrics, forceStop, view } = this.#options;
    const { runner } = slot;
    const power = view.facts(runner.name).twin?.status?.power?.state;
    // A machine loses its limits with its power: they are set again, and there is nothing to restore.
    if (power === "off" || power === "waking") this.#dropEntries(runner.name);
    // A machine that is off cannot answer, and that is no error. Its first tick after that comes in time.
    if (power === "off") {
      slot.silent = 0;
      return;
    }
    try {
      const tick = await runner.tick(forceStop);
      // A machine that boots is asked at every tick, so that its caps are set as soon as it answers. One that shuts down may
      // still run pods that were bound a moment ago; then it stays on, and its caps must be right.
      const mayBeSilent = power === "waking" || power === "stopping";
      slot.silent = isUnresponsive(tick.power) && !mayBeSilent ? slot.silent + 1 : 0;
    } catch (err) {
      if (this.#stop.signal.aborted) return;
      log.error({ err, node: runner.name }, "node tick failed; retrying at the next tick");
      metrics.recordFailedTick(runner.name);
    }
  }

  #waitAfter({ silent, runner }: Slot, started: MonotonicInstant): Milliseconds {
    const { clock, interval, random, metrics } = this.#options;
    const now = clock.monotonic();
    if (silent > 0) {
      metrics.recordSkippedTick("silent");
      return milliseconds(Math.max(0, retryDelay(silent, interval, random) - elapsed(started, now)));
    }
    // A timer may fire a moment early; then its own tick is not the next one.
    const from = monotonicInstant(Math.max(now, started + COALESCE));
    return milliseconds(elapsed(now, from) + untilNextTick(runner.name, interval, from));
  }
}

/** Backoff for a node that does not answer. */
const MAX_INTERVALS = 16;
const MAX_WAIT = 300_000;
const JITTER = 0.2;

/** Time to the node's next tick. Each node has a fixed offset within the interval, so that ticks spread out. */
export function untilNextTick(name: string, interval: Milliseconds, from: MonotonicInstant): Milliseconds {
  const offset = shareOf(name) * interval;
  return milliseconds(Math.max(0, offset + Math.ceil((from - offset) / interval) * interval - from));
}

function retryDelay(silent: number, interval: Milliseconds, random: RandomSource): Milliseconds {
  const longest = milliseconds(Math.min(MAX_INTERVALS * interval, Math.max(interval, MAX_WAIT)));
  return backoffDelay(silent + 1, { first: interval, longest, jitter: JITTER }, random);
}

/** The node's offset as a share of the interval. The multiplication spreads the similar hashes of names like node-1, node-2. */
const shareOf = (name: string): number => (Math.imul(fnv1a32(name), 0x9e3779b1) >>> 0) / 2 ** 32;
