import type { NodePowerState } from "../api/index.ts";
import { wallPower } from "../power/index.ts";
import { baselineAmbient } from "../twin/index.ts";
import {
  type Celsius,
  isNonNegative,
  type Joules,
  joules,
  type Seconds,
  seconds,
  type Watts,
  watts,
} from "../units/index.ts";
import { type NodeModel, settledAt, temperatureAfter } from "./node-model.ts";
import {
  type Caps,
  firstDone,
  idleOperation,
  type JobInProgress,
  leftAfter,
  type Operation,
  operate,
  operateWithoutJobs,
  sameCaps,
  timeLeft,
} from "./operation.ts";
import { jobDemandOf, type SimulatedJob } from "./work.ts";

export type SimulatedNodeEvent<J extends SimulatedJob = SimulatedJob> =
  | { readonly kind: "finished"; readonly at: Seconds; readonly job: J }
  /** A shutdown ended (off), or a boot (on or failed). */
  | { readonly kind: "switched"; readonly at: Seconds; readonly power: NodePowerState };

export interface SimulatedNodeStart {
  readonly at?: Seconds;
  readonly ambient?: Celsius;
}

/** Thirty thousand years. Sums of seconds and joules are still exact up to this time. */
const END_OF_TIME = seconds(1e12);

/**
 * Simulates a node: turns jobs, clocks and caps into power, heat and progress. All rates are constant between two events,
 * so time is divided into segments. Any change ends a segment, and energy, progress and temperature within it are closed
 * formulas. Reading a node never changes it: the run is identical, however often it is read. Times are seconds since the
 * start of the simulation. Advancing takes constant time; a change takes one pass over the node's jobs.
 */
export class SimulatedNode<J extends SimulatedJob = SimulatedJob> {
  readonly model: NodeModel;
  /** In start order. A list, because every change iterates over it and a node runs only some dozens. */
  readonly #running: JobInProgress<J>[] = [];
  #caps: Caps = {};
  #ambient: Celsius;
  #power: NodePowerState = "on";
  /** What a shutdown or a boot ends in, and when. */
  #powerNext: NodePowerState = "on";
  #powerNextAt = END_OF_TIME;
  #now: Seconds;
  readonly #started: Seconds;

  // The state at the start of the segment.
  #since: Seconds;
  #temperature: Celsius;
  #cpuJoules = 0;
  #gpuJoules = 0;
  #offSeconds = 0;

  // The rates during the segment, and the event that ends it: the completion of a job, or of a shutdown or boot.
  readonly #operation = idleOperation();
  #settled: Celsius;
  #endsAt = END_OF_TIME;
  /** The job that completes then; undefined for a shutdown or a boot. */
  #ending: JobInProgress<J> | undefined;

  /** The node starts idle, at its idle temperature. */
  constructor(model: NodeModel, { at, ambient }: SimulatedNodeStart = {}) {
    this.model = model;
    this.#ambient = isAir(ambient) ? ambient : baselineAmbient;
    this.#now = seconds(isNonNegative(at) && at < END_OF_TIME ? at : 0);
    this.#since = this.#now;
    this.#started = this.#now;
    this.#settled = settledAt(model.thermal, model.idle, this.#ambient);
    this.#temperature = this.#settled;
    this.#beginSegment();
  }

  get now(): Seconds {
    return this.#now;
  }

  /** The time of the next event if nothing changes; absent if there is none. */
  get nextAt(): Seconds | undefined {
    return this.#endsAt < END_OF_TIME ? this.#endsAt : undefined;
  }

  /** Advances to a time, or to the first event before it, which is returned: call again until there is none. */
  advance(to: Seconds): SimulatedNodeEvent<J> | undefined {
    if (this.#endsAt <= to && this.#endsAt < END_OF_TIME) return this.#happen(this.#endsAt);
    if (to > this.#now && to < END_OF_TIME) this.#now = to;
    return undefined;
  }

  /** Returns false if a job with this id is already running. Throws if the node is not on: nothing can run there. */
  start(job: J): boolean {
    if (this.#power !== "on") throw new Error(`job ${job.id} starts on a node that is ${this.#power}`);
    if (this.#find(job.id) !== undefined) return false;
    const demand = jobDemandOf(job);
    this.#endSegment();
    this.#running.push({ job, demand, left: demand.work, rate: 0 });
    this.#beginSegment();
    return true;
  }

  /** Stops a job early and returns its remaining work. Absent if the job is not running. */
  stop(id: string): Seconds | undefined {
    const running = this.#find(id);
    if (running === undefined) return undefined;
    this.#endSegment();
    this.#remove(running);
    this.#beginSegment();
    return seconds(running.left);
  }

  /** Starts to shut down, and is off after the time of its model. Returns the jobs that this stops; off: no effect. */
  shutDown(): readonly J[] {
    if (this.#power === "off" || this.#power === "stopping") return [];
    return this.#switch("stopping", "off", this.model.states.shutdownTime);
  }

  /** Is off at once. Returns the jobs that this stops. */
  cutPower(): readonly J[] {
    return this.#power === "off" ? [] : this.#switch("off", "off", END_OF_TIME);
  }

  /** Boots, if it is off. The boot ends in `on`, or in `failed`: then the machine hangs until its power is cut. */
  switchOn(fails = false): void {
    if (this.#power === "off") this.#switch("waking", fails ? "failed" : "on", this.model.states.bootTime);
  }

  #switch(power: NodePowerState, next: NodePowerState, after: Seconds): readonly J[] {
    this.#endSegment();
    const stopped = this.#running.splice(0).map(({ job }) => job);
    this.#power = power;
    this.#powerNext = next;
    this.#powerNextAt = after < END_OF_TIME ? seconds(this.#now + after) : END_OF_TIME;
    this.#beginSegment();
    return stopped;
  }

  get power(): NodePowerState {
    return this.#power;
  }

  /** Time off since the start. */
  get offSeconds(): Seconds {
    return seconds(this.#offSeconds + (this.#power === "off" ? this.#elapsed() : 0));
  }

  /** Sets all caps at once; a missing cap means uncapped. */
  setCaps(caps: Caps): void {
    // Programs write their caps at every tick; an unchanged cap does not end the segment.
    if (sameCaps(caps, this.#caps)) return;
    this.#endSegment();
    this.#caps = { ...caps };
    this.#beginSegment();
  }

  /** Sets the inlet temperature. Implausible values are ignored. */
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

  /** Current loads, clocks and watts. */
  get operation(): Readonly<Operation> {
    return this.#operation;
  }

  /** Power of the packages and boards, as their sensors read it. */
  get watts(): Watts {
    return watts(this.#operation.cpuWatts + this.#operation.gpuWatts);
  }

  /** Power of the whole server. */
  get wallWatts(): Watts {
    const { idle, rest, states } = this.model;
    return this.#power === "off" ? states.off : wallPower(this.watts, idle, rest);
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

  /** Energy of the whole server since the start. Wall power is linear in device power, and so is its energy. */
  get wallJoules(): Joules {
    const { idle, rest, states } = this.model;
    const off = this.offSeconds;
    const time = this.#now - this.#started - off;
    const devices = this.joules;
    return joules(devices + rest.idle * time + rest.slope * (devices - idle * time) + states.off * off);
  }

  get temperature(): Celsius {
    return temperatureAfter(this.model.thermal, this.#temperature, this.#settled, this.#elapsed());
  }

  get jobCount(): number {
    return this.#running.length;
  }

  *jobs(): Generator<J> {
    for (const { job } of this.#running) yield job;
  }

  /** Remaining work of a job, in seconds at full speed; absent if it is not running. */
  leftOf(id: string): Seconds | undefined {
    const running = this.#find(id);
    return running && leftAfter(running, this.#elapsed());
  }

  /** Progress of a job per second, 1 at full speed; absent if it is not running. */
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
    if (ending === undefined) {
      this.#switch(this.#powerNext, this.#powerNext, END_OF_TIME);
      return { kind: "switched", at, power: this.#power };
    }
    this.#endSegment();
    this.#remove(ending);
    this.#beginSegment();
    return { kind: "finished", at, job: ending.job };
  }

  /** Adds up energy and progress of the segment. */
  #endSegment(): void {
    const elapsed = this.#elapsed();
    this.#cpuJoules = this.cpuJoules;
    this.#gpuJoules = this.gpuJoules;
    this.#temperature = this.temperature;
    this.#offSeconds = this.offSeconds;
    for (const running of this.#running) running.left = leftAfter(running, elapsed);
    this.#since = this.#now;
  }

  /** Computes the rates from now on and the end of the segment. */
  #beginSegment(): void {
    const { model } = this;
    if (this.#power === "on") operate(this.#operation, model, this.#running, this.#caps);
    else operateWithoutJobs(this.#operation, model, this.#power);
    this.#settled = settledAt(model.thermal, this.watts, this.#ambient);
    this.#ending = firstDone(this.#running);
    this.#endsAt = this.#ending === undefined ? END_OF_TIME : seconds(this.#since + timeLeft(this.#ending));
    if (this.#powerNextAt >= this.#endsAt) return;
    this.#ending = undefined;
    this.#endsAt = this.#powerNextAt;
  }
}

/** Other values are implausible inlet temperatures. */
const isAir = (ambient: Celsius | undefined): ambient is Celsius => ambient !== undefined && Math.abs(ambient) < 1000;
