import { elapsed, type Instant, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import type { ClusterHistory } from "../past/cluster-history.ts";
import type { ClusterWatch } from "../state/cluster-watch.ts";
import type { ProblemEntry, Snapshot, Totals } from "../wire.ts";
import type { LiveFeed } from "./live-feed.ts";

export interface PublisherOptions {
  readonly cluster: ClusterWatch;
  readonly feed: LiveFeed;
  readonly history: ClusterHistory;
  /** The time of the cluster; may be scaled. */
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly facts: Pick<Snapshot, "epoch" | "cluster" | "version" | "historyHours">;
  readonly findProblems: () => readonly ProblemEntry[];
  readonly savedWatts: () => number | null;
}

const EVERY = milliseconds(1000);
/** It publishes every second, so a longer time is no delay. */
const PAUSE = milliseconds(60_000);
const BEAT_AFTER = 5;
/** Problems are found over all nodes and pods: less often than changes are sent. */
const PROBLEMS_EVERY = 5;
/** In the time of the cluster: where it is scaled, the energy account has to see more than every fifth second. */
const ENERGY_EVERY = milliseconds(60_000);

/** Once a second: computes what has changed, samples the history and tells the pages. */
export class Publisher {
  readonly #options: PublisherOptions;
  #timer: Timer | undefined;
  #turn = 0;
  #quiet = 0;
  #problems: readonly ProblemEntry[] = [];
  #lastProblems = "";
  #lastTotals = "";
  #lastTopology = 0;
  #lastSyncing = "";
  #savedWatts: number | null = null;
  #lastAt: MonotonicInstant | undefined;
  #energyAt: Instant | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = this.#options.ioClock.after(EVERY, () => {
      this.publish();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** The page's first answer: what has changed meanwhile is published first, so that its number is exact. */
  snapshot(): Snapshot {
    this.publish();
    const { cluster, feed, clock, facts } = this.#options;
    const { table, decisions } = cluster;
    const { names, columns } = table.all();
    return {
      ...facts,
      seq: feed.seq,
      at: clock.now(),
      silence: cluster.silence ?? null,
      syncing: cluster.unsynced,
      names: [...names],
      columns,
      labelKeys: table.labelKeys,
      topology: table.topology,
      totals: this.#totals(),
      problems: this.#problems,
      decisions: decisions.entries,
    };
  }

  publish(): void {
    const { cluster, feed, history, clock, findProblems, savedWatts } = this.#options;
    const { table, decisions } = cluster;
    cluster.refresh();
    const at = clock.now();
    const silence = cluster.silence ?? null;
    const isSynced = cluster.unsynced.length === 0;
    const isTurn = isSynced && this.#turn++ % PROBLEMS_EVERY === 0;
    if (isTurn) this.#problems = findProblems();
    if (isTurn || (isSynced && at - (this.#energyAt ?? at) >= ENERGY_EVERY)) {
      this.#savedWatts = savedWatts();
      this.#energyAt = at;
    }
    const totals = this.#totals();
    this.#noticePause();
    if (isSynced) history.sample(at, totals, table.rows());
    const changes = table.takeChanges();
    const fresh = decisions.takeFresh();
    const problems = changed(this.#lastProblems, this.#problems);
    const syncing = changed(this.#lastSyncing, cluster.unsynced);
    const isTopologyNew = table.topology !== this.#lastTopology;
    const totalsText = JSON.stringify(totals);
    if (changes || fresh.length > 0 || problems || syncing || isTopologyNew || totalsText !== this.#lastTotals) {
      this.#lastTotals = totalsText;
      this.#lastTopology = table.topology;
      if (problems !== undefined) this.#lastProblems = problems;
      if (syncing !== undefined) this.#lastSyncing = syncing;
      this.#quiet = 0;
      feed.publish({
        at,
        silence,
        totals,
        ...changes,
        ...(isTopologyNew && { topology: table.topology, labelKeys: table.labelKeys }),
        ...(problems !== undefined && { problems: this.#problems }),
        ...(syncing !== undefined && { syncing: cluster.unsynced }),
        ...(fresh.length > 0 && { decisions: fresh }),
      });
    } else if (++this.#quiet % BEAT_AFTER === 0) feed.beat(at, silence);
  }

  /** The process was suspended, or its machine slept: what happened meanwhile is unknown. */
  #noticePause(): void {
    const { ioClock, history } = this.#options;
    const now = ioClock.monotonic();
    if (this.#lastAt !== undefined && elapsed(this.#lastAt, now) > PAUSE) history.interrupt();
    this.#lastAt = now;
  }

  #totals(): Totals {
    const { cluster } = this.#options;
    return cluster.totals(this.#savedWatts);
  }
}

function changed(last: string, value: unknown): string | undefined {
  const text = JSON.stringify(value);
  return text === last ? undefined : text;
}
