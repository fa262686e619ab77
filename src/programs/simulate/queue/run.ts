import { POWER_STATES } from "../../../core/power/index.ts";
import { defaultScoringSettings, EnergyKernel, energySettings } from "../../../core/scoring/index.ts";
import type { Percent } from "../../../core/units/index.ts";
import type { Contender } from "../contenders.ts";
import type { ExperimentRun, SleepOptions } from "../experiment.ts";
import { fillingPlacement } from "../placement/filling-placement.ts";
import { admits, indexJobKinds, type JobKindRequest, type Placement } from "../placement/job-kinds.ts";
import { KubeDefaultScheduler, placementRandom } from "../placement/kube-placement.ts";
import { ANY_BOARD, type Trace } from "../trace/trace.ts";
import { EnergyPlacement } from "./energy-placement.ts";
import { IdleAccount } from "./idle-account.ts";
import { JobQueue } from "./job-queue.ts";
import { jobAt } from "./jobs.ts";
import { jouliePlacement } from "./joulie-placement.ts";
import { type ClusterMachine, ratedWatts } from "./machines.ts";
import { type ProgressMark, type QueueRunRecord, queueRunFigures } from "./queue-figures.ts";
import { AGENT_SEC, PASS_SEC, RETRY_SEC, sleepSettings, TRIGGER_SEC } from "./settings.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";
import { SimulatedOperator } from "./simulated-operator.ts";

export interface QueueSetup {
  readonly trace: Trace;
  readonly machines: readonly ClusterMachine[];
  readonly seed: number;
  /** Reports the power of whole servers instead of that of packages and boards. */
  readonly atWall?: boolean;
  /** Seconds between which energy per work is measured; absent = not. */
  readonly window?: readonly [from: number, to: number];
  /** ECO_MAX_SLOWDOWN_PCT of the operator, with fit_aware_v1. */
  readonly ecoMaxSlowdown?: Percent | undefined;
  /** ECO_CLOCK_SHARE of the operator. */
  readonly ecoClockShare?: number | undefined;
  readonly sleep?: SleepOptions | undefined;
}

/** After this time without a running job, waiting jobs can never start. */
const STUCK_SEC = 3600;

/** Runs until every job is done; jobs wait until they fit. */
export const runQueue = (
  setup: QueueSetup,
  contender: Contender,
  onProgress: (share: number) => void,
): ExperimentRun => ({
  contender,
  seed: setup.seed,
  ...queueRunFigures(simulateQueue(setup, contender, onProgress)),
});

export function simulateQueue(
  setup: QueueSetup,
  contender: Contender,
  onProgress: (share: number) => void = () => {},
): QueueRunRecord {
  const simulation = new Simulation(setup, contender);
  simulation.run(onProgress);
  return simulation.story();
}

class Simulation {
  readonly #trace: Trace;
  readonly #site: SimulatedCluster;
  readonly #kindOf: Int32Array;
  readonly #backlog: JobQueue;
  readonly #kinds: readonly JobKindRequest[];
  readonly #placement: Placement;
  readonly #operator: SimulatedOperator | undefined;
  readonly #energy: EnergyPlacement | undefined;
  readonly #placedOn: Int32Array;
  readonly #startedAt: Float64Array;
  readonly #endedAt: Float64Array;
  readonly #wattsByMinute: number[] = [];
  readonly #fitsSomewhere: readonly boolean[];
  readonly #ratedWatts: (trace: Trace, job: number) => number;
  readonly #marks: ProgressMark[] = [];
  /** Within the window. */
  readonly #idle: IdleAccount;
  /** Times of the marks to come. */
  readonly #window: number[];
  #peakWatts = 0;
  #now = 0;
  #triggeredPass = Infinity;
  /** A node has become usable since the last try of all jobs. */
  #hasWoken = false;
  #done = 0;

  constructor(setup: QueueSetup, { arm, policy, sleep: sleeps }: Contender) {
    const { trace, machines, seed, atWall, window, ecoMaxSlowdown, ecoClockShare } = setup;
    this.#trace = trace;
    const site = new SimulatedCluster(machines, atWall, sleeps);
    this.#site = site;
    this.#idle = new IdleAccount(machines, site);
    this.#ratedWatts = ratedWatts(machines);
    this.#window = [...(window ?? [])];
    const { kinds, kindOf } = indexJobKinds(trace);
    this.#kinds = kinds;
    this.#kindOf = kindOf;
    this.#backlog = new JobQueue(kinds);
    this.#placedOn = new Int32Array(trace.length).fill(-1);
    this.#startedAt = new Float64Array(trace.length).fill(Number.NaN);
    this.#endedAt = new Float64Array(trace.length).fill(Number.NaN);
    this.#fitsSomewhere = kinds.map(({ cores, gpus, board: needed }) =>
      machines.some(
        ({ shape, board }) => shape.cores >= cores && shape.gpus >= gpus && (needed === ANY_BOARD || board === needed),
      ),
    );
    const sleep = sleeps && {
      seed,
      failedBoots: setup.sleep?.failedBoots ?? POWER_STATES.failedBoots,
      settings: sleepSettings(setup.sleep),
      onChange: (node: number, isUntainted: boolean) => this.#powerChanged(node, isUntainted),
    };
    if (arm === "energy" || arm === "joulie") site.reservations = machines.map(() => undefined);
    if (arm === "energy") {
      const kernel = new EnergyKernel(defaultScoringSettings, energySettings({ sleeps }));
      this.#operator = new SimulatedOperator(machines, site, kinds, policy, {
        kernel,
        ecoMaxSlowdown,
        ecoClockShare,
        sleep,
      });
      const names = machines.map(({ name }) => name);
      const energy = new EnergyPlacement(site, kernel, names);
      this.#energy = energy;
      this.#placement = (kind) => energy.place(kind);
      return;
    }
    if (arm === "joulie") {
      // It needs twins, so it has an operator even with policy none.
      const operator = new SimulatedOperator(machines, site, kinds, policy, { ecoMaxSlowdown, ecoClockShare, sleep });
      this.#operator = operator;
      const { kernel } = operator;
      const slots = Int32Array.from(machines, ({ name }) => kernel.slotOf(name));
      this.#placement = jouliePlacement(site, kernel, slots);
      return;
    }
    this.#operator =
      policy === "none" && sleep === undefined
        ? undefined
        : new SimulatedOperator(machines, site, kinds, policy, { ecoMaxSlowdown, ecoClockShare, sleep });
    if (arm === "kube") {
      const scheduler = new KubeDefaultScheduler(site, placementRandom(seed));
      this.#placement = (kind) => scheduler.place(kind);
    } else this.#placement = fillingPlacement(site, arm === "most" ? "most" : "least");
  }

  run(onProgress: (share: number) => void): void {
    const { submitSec, length } = this.#trace;
    let arrived = 0;
    let nextPass = 0;
    let nextAgents = Infinity;
    let nextTry = Infinity;
    let busyAt = 0;
    let triesAll = false;
    while (arrived < length || this.#backlog.size > 0 || this.#site.running > 0) {
      const arrival = arrived < length ? (submitSec[arrived] as number) : Infinity;
      const nextMark = this.#window[0] ?? Infinity;
      this.#now = Math.min(
        arrival,
        this.#site.nextAt,
        nextPass,
        this.#triggeredPass,
        nextAgents,
        nextTry,
        nextMark,
        this.#operator?.power?.nextAt ?? Infinity,
      );
      this.#settle();
      this.#operator?.power?.advance(this.#now);
      if (nextMark <= this.#now) this.#mark();
      if (nextAgents <= this.#now) {
        nextAgents = Infinity;
        this.#enforce();
        // Lifting caps may end a job at this moment.
        this.#settle();
      }
      const firstNew = arrived;
      for (; arrived < length && (submitSec[arrived] as number) <= this.#now; arrived++) this.#arrive(arrived);
      const isDue = nextPass <= this.#now;
      if (isDue || this.#triggeredPass <= this.#now) {
        this.#triggeredPass = Infinity;
        // An agent that is about to look at its target does not start again.
        nextAgents = Math.min(nextAgents, this.#now + AGENT_SEC);
        nextTry = this.#now + (this.#operator?.fitsPods === true ? RETRY_SEC : 0);
        triesAll ||= this.#hasWoken;
        this.#hasWoken = false;
        if (isDue) this.#wattsByMinute.push(this.#site.totalWatts);
        this.#pass();
        if (isDue && this.#marks.length === 1) this.#idle.sample(this.#operator?.sleepPlan);
      }
      if (isDue) {
        nextPass += PASS_SEC;
        onProgress(this.#done / length);
      }
      if (nextTry <= this.#now) {
        nextTry = Infinity;
        // Nodes may have become performance nodes.
        const all = triesAll;
        if (this.#operator !== undefined) this.#backlog.unblock(({ performance }) => all || performance);
        triesAll = false;
      }
      this.#place();
      if (this.#hasWaiting(firstNew, arrived)) {
        this.#triggeredPass = Math.min(this.#triggeredPass, this.#now + TRIGGER_SEC);
      }
      this.#peakWatts = Math.max(this.#peakWatts, this.#site.totalWatts);
      if (this.#site.nextAt < Infinity || arrived < length) busyAt = this.#now;
      else if (this.#now - busyAt > STUCK_SEC) return;
    }
  }

  #arrive(job: number): void {
    const kind = this.#kindOf[job] as number;
    if (this.#fitsSomewhere[kind] !== true) return;
    this.#backlog.add(job, kind);
    this.#operator?.arrived(job, kind, this.#now);
  }

  /** Whether a job that just arrived has no node, and the operator may find one for it: by a promotion or by a wake. */
  #hasWaiting(first: number, end: number): boolean {
    if (this.#operator === undefined) return false;
    const { fitsPods, power } = this.#operator;
    for (let job = first; job < end; job++) {
      if (!Number.isNaN(this.#startedAt[job])) continue;
      if (fitsPods && this.#trace.performance[job] === 1) return true;
      if (power?.hasAsleep((node) => this.#couldRun(job, node)) === true) return true;
    }
    return false;
  }

  /** Whether the job fits on the node if that is empty. */
  #couldRun(job: number, node: number): boolean {
    const { cores, gpus } = this.#site.shape(node);
    const { cores: asked, gpus: askedGpus, board } = this.#trace;
    const needed = board[job] as number;
    return (
      cores >= (asked[job] as number) &&
      gpus >= (askedGpus[job] as number) &&
      (needed === ANY_BOARD || this.#site.board[node] === needed)
    );
  }

  /** The taint of a node or the power in its twin has changed. */
  #powerChanged(node: number, isUntainted: boolean): void {
    if (!isUntainted) return;
    this.#unblockFitting(node);
    // The operator sees the twin and publishes another class than asleep.
    this.#hasWoken = true;
    this.#triggeredPass = Math.min(this.#triggeredPass, this.#now + TRIGGER_SEC);
  }

  /** Processes all events that are due. */
  #settle(): void {
    while (this.#site.nextAt <= this.#now) this.#happen();
  }

  #happen(): void {
    const happened = this.#site.processNextEvent();
    if (happened === undefined) return;
    const { node, ended, switched } = happened;
    if (switched !== undefined) this.#operator?.power?.switched(node, switched, this.#now);
    if (ended === undefined) return;
    this.#energy?.ended(ended);
    this.#operator?.ended(ended.index);
    this.#endedAt[ended.index] = this.#now;
    this.#done++;
    this.#unblockFitting(node);
  }

  #unblockFitting(node: number): void {
    const cores = this.#site.freeCores[node] as number;
    const gpus = this.#site.freeGpus[node] as number;
    this.#backlog.unblock((kind) => cores >= kind.cores && gpus >= kind.gpus && admits(this.#site, node, kind));
  }

  /** Records energy and work so far: of jobs that ended, and of those that run. */
  #mark(): void {
    this.#window.shift();
    const { durationSec, length } = this.#trace;
    let ratedJoules = 0;
    for (let job = 0; job < length; job++) {
      if (Number.isNaN(this.#endedAt[job])) continue;
      ratedJoules += this.#ratedWatts(this.#trace, job) * (durationSec[job] as number);
    }
    this.#site.visitRunning(this.#now, ({ index }, left) => {
      ratedJoules += this.#ratedWatts(this.#trace, index) * ((durationSec[index] as number) - left);
    });
    const energy = this.#site.energyUntil(this.#now);
    const power = this.#operator?.power;
    this.#marks.push({ atSec: this.#now, energy, ratedJoules, sleeps: power?.sleeps ?? 0 });
  }

  #enforce(): void {
    this.#operator?.enforce((node, caps) => {
      this.#site.setCaps(node, caps, this.#now);
    });
  }

  #pass(): void {
    if (this.#operator === undefined) return;
    this.#operator.pass(this.#now);
    for (const node of this.#operator.released) this.#unblockFitting(node);
  }

  #place(): void {
    for (let kind = this.#backlog.next(); kind !== -1; kind = this.#backlog.next()) {
      const node = this.#placement(this.#kinds[kind] as JobKindRequest);
      if (node === -1) {
        this.#backlog.block(kind);
        continue;
      }
      const job = this.#backlog.take(kind);
      this.#placedOn[job] = node;
      this.#startedAt[job] = this.#now;
      const started = jobAt(this.#trace, job);
      this.#energy?.started(node, started);
      this.#operator?.bound(job, kind, node, this.#now);
      this.#site.start(node, started, this.#now);
      // As the operator's watch does, so that the node takes other pods again.
      if (this.#site.reservations?.[node] !== undefined)
        this.#triggeredPass = Math.min(this.#triggeredPass, this.#now + TRIGGER_SEC);
      // A job of zero length ends before the next one starts.
      this.#settle();
    }
  }

  story(): QueueRunRecord {
    const power = this.#operator?.power;
    return {
      trace: this.#trace,
      placedOn: this.#placedOn,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      endSec: this.#now,
      energy: this.#site.energyUntil(this.#now),
      marks: this.#marks,
      idleWatts: this.#site.totalWatts,
      wattsByMinute: Float64Array.from(this.#wattsByMinute),
      peakWatts: this.#peakWatts,
      nodes: this.#site.count,
      promotions: this.#operator?.promotions,
      ...(power && {
        sleep: {
          sleeps: power.sleeps,
          failedBoots: power.failures,
          wakes: this.#operator.wakes,
          idle: this.#idle.shares,
        },
      }),
    };
  }
}
