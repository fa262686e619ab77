import { baselineAmbient } from "../twin/index.ts";
import {
  type Celsius,
  celsius,
  isNonNegative,
  type Joules,
  joules,
  type Seconds,
  seconds,
  type Watts,
  watts,
} from "../units/index.ts";
import type { NodeModel } from "./node-model.ts";
import { type Caps, idleOperation, type Operation, operate, sameCaps } from "./operation.ts";
import { firstDone, leftAfter, type JobInProgress, timeLeft } from "./job-in-progress.ts";
import { settledAt, temperatureAfter, timeToReach } from "./thermal.ts";
import { jobDemandOf, type SimulatedJob } from "./work.ts";

/** What happened to a node by itself. */
export type SimulatedNodeEvent<J extends SimulatedJob = SimulatedJob> =
  | { readonly kind: "finished"; readonly at: Seconds; readonly job: J }
  /** It has become too hot and slows itself down, or has cooled enough to stop doing so. */
  | { readonly kind: "throttled" | "recovered"; readonly at: Seconds };

/** Where and when a node begins. */
export interface SimulatedNodeStart {
  readonly at?: Seconds | undefined;
  readonly ambient?: Celsius | undefined;
}

/** Thirty thousand years: no simulation gets there, and sums of seconds and joules are still exact on the way. */
const END_OF_TIME = seconds(1e12);

/**
 * A node that turns running work, clocks and caps into watts, heat and progress. Between two events all its rates are
 * constant, so its time is cut into segments: whatever changes ends one, and energy, progress and temperature within it are
 * closed formulas. Looking at a node changes nothing: however often it is read, its run is the same to the last bit.
 * Times are seconds since the start of the simulation. Advancing costs nothing; a change costs a pass over its own jobs.
 */
export class SimulatedNode<J extends SimulatedJob = SimulatedJob> {
  readonly model: NodeModel;
  /** In the order they started. A list: it is walked at every change, and a node runs some dozens. */
  readonly #running: JobInProgress<J>[] = [];
  #caps: Caps = {};
  #ambient: Celsius;
  #hot = false;
  #now: Seconds;

  // What was true when the segment began.
  #since: Seconds;
  #temperature: Celsius;
  #cpuJoules = 0;
  #gpuJoules = 0;

  // What is true throughout it, and how it ends if nobody ends it before: the job that will be done, else the heat.
  readonly #operation = idleOperation();
  #settled: Celsius;
  #endsAt = END_OF_TIME;
  #ending: JobInProgress<J> | undefined;

  /** Starts idle, and as warm as an idle node is. */
  constructor(model: NodeModel, { at, ambient }: SimulatedNodeStart = {}) {
    this.model = model;
    this.#ambient = isAir(ambient) ? ambient : baselineAmbient;
    this.#now = seconds(isNonNegative(at) && at < END_OF_TIME ? at : 0);
    this.#since = this.#now;
    this.#settled = settledAt(model.thermal, model.idle, this.#ambient);
    this.#temperature = this.#settled;
    this.#beginSegment();
  }

  get now(): Seconds {
    return this.#now;
  }

  /** When something happens to it next if it is left alone; absent where nothing will. */
  get nextAt(): Seconds | undefined {
    return this.#endsAt < END_OF_TIME ? this.#endsAt : undefined;
  }

  /**
   * Takes it to a time, or to the first thing that happens before and says what: call again until nothing does. A time
   * that has passed, or never comes, leaves it where it is.
   */
  advance(to: Seconds): SimulatedNodeEvent<J> | undefined {
    if (this.#endsAt <= to && this.#endsAt < END_OF_TIME) return this.#happen(this.#endsAt);
    if (to > this.#now && to < END_OF_TIME) this.#now = to;
    return undefined;
  }

  /** False where a job of this id runs already: a job is started once. */
  start(job: J): boolean {
    if (this.#find(job.id) !== undefined) return false;
    const demand = jobDemandOf(job);
    this.#endSegment();
    this.#running.push({ job, demand, left: demand.work, rate: 0 });
    this.#beginSegment();
    return true;
  }

  /** Takes a job away before its end, and tells the work it leaves undone. Absent where it does not run. */
  stop(id: string): Seconds | undefined {
    const running = this.#find(id);
    if (running === undefined) return undefined;
    this.#endSegment();
    this.#remove(running);
    this.#beginSegment();
    return seconds(running.left);
  }

  /** All caps at once: what is not named is not asked for any more. */
  setCaps(caps: Caps): void {
    // Programs assert their caps at every tick; what changes nothing ends no segment.
    if (sameCaps(caps, this.#caps)) return;
    this.#endSegment();
    this.#caps = { ...caps };
    this.#beginSegment();
  }

  /** The air it breathes. What cannot be one is no news. */
  setAmbient(ambient: Celsius): void {
    if (!isAir(ambient) || ambient === this.#ambient) return;
    this.#endSegment();
    this.#ambient = ambient;
    this.#beginSegment();
  }

  get caps(): Caps {
    return this.#caps;
  }

  get ambient(): Celsius {
    return this.#ambient;
  }

  /** Loads, clocks, watts: what it does now. */
  get operation(): Readonly<Operation> {
    return this.#operation;
  }

  get watts(): Watts {
    return watts(this.#operation.cpuWatts + this.#operation.gpuWatts);
  }

  /** Since the start. */
  get cpuJoules(): Joules {
    return joules(this.#cpuJoules + this.#operation.cpuWatts * this.#elapsed());
  }

  get gpuJoules(): Joules {
    return joules(this.#gpuJoules + this.#operation.gpuWatts * this.#elapsed());
  }

  get joules(): Joules {
    return joules(this.cpuJoules + this.gpuJoules);
  }

  get temperature(): Celsius {
    return temperatureAfter(this.model.thermal, this.#temperature, this.#settled, this.#elapsed());
  }

  /** Too hot, and so slowing itself down. */
  get throttled(): boolean {
    return this.#hot;
  }

  get jobCount(): number {
    return this.#running.length;
  }

  *jobs(): Generator<J> {
    for (const { job } of this.#running) yield job;
  }

  /** Work left of a job, in seconds at full speed; absent where it does not run. */
  leftOf(id: string): Seconds | undefined {
    const running = this.#find(id);
    return running && leftAfter(running, this.#elapsed());
  }

  /** Work a job does per second, 1 at full speed; absent where it does not run. */
  rateOf(id: string): number | undefined {
    return this.#find(id)?.rate;
  }

  #find(id: string): JobInProgress<J> | undefined {
    return this.#running.find(({ job }) => job.id === id);
  }

  #remove(running: JobInProgress<J>): void {
    this.#running.splice(this.#running.indexOf(running), 1);
  }

  #elapsed(): Seconds {
    return seconds(this.#now - this.#since);
  }

  #happen(at: Seconds): SimulatedNodeEvent<J> {
    const ending = this.#ending;
    this.#now = at;
    this.#endSegment();
    if (ending === undefined) this.#turn();
    else this.#remove(ending);
    this.#beginSegment();
    if (ending !== undefined) return { kind: "finished", at, job: ending.job };
    return { kind: this.#hot ? "throttled" : "recovered", at };
  }

  /** Puts the temperature on the mark it has reached, or the exponential's last bit could keep it a moment short of it. */
  #turn(): void {
    const { throttleAt, resumeAt } = this.model.thermal;
    const mark = this.#hot ? Math.min(this.#temperature, resumeAt) : Math.max(this.#temperature, throttleAt);
    this.#temperature = celsius(mark);
    this.#hot = !this.#hot;
  }

  /** Books what the segment has done. */
  #endSegment(): void {
    const elapsed = this.#elapsed();
    this.#cpuJoules = this.cpuJoules;
    this.#gpuJoules = this.gpuJoules;
    this.#temperature = this.temperature;
    for (const running of this.#running) running.left = leftAfter(running, elapsed);
    this.#since = this.#now;
  }

  /** Works out what is true from here on, and until when. */
  #beginSegment(): void {
    const { model } = this;
    operate(this.#operation, model, this.#running, this.#caps, this.#hot ? model.thermal.hotClock : 1);
    this.#settled = settledAt(model.thermal, this.watts, this.#ambient);
    const { throttleAt, resumeAt } = model.thermal;
    const mark = this.#hot ? resumeAt : throttleAt;
    const turn = timeToReach(model.thermal, this.#temperature, this.#settled, mark, !this.#hot);
    const done = firstDone(this.#running);
    const doneAfter = done === undefined ? turn : timeLeft(done);
    this.#ending = doneAfter <= turn ? done : undefined;
    this.#endsAt = seconds(this.#since + Math.min(doneAfter, turn));
  }
}

/** Anything else is no temperature a computer has ever breathed. */
const isAir = (ambient: Celsius | undefined): ambient is Celsius => ambient !== undefined && Math.abs(ambient) < 1000;
