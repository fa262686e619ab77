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
import { type Caps, idleOperation, type Operation, operate, type Paced, sameCaps } from "./operation.ts";
import { settledAt, temperatureAfter, timeToReach } from "./thermal.ts";
import { demandOf, type Job } from "./work.ts";

/** What happened to a node by itself. */
export type Happening<J extends Job = Job> =
  | { readonly kind: "finished"; readonly at: Seconds; readonly job: J }
  /** It has become too hot and slows itself down, or has cooled enough to stop doing so. */
  | { readonly kind: "throttled" | "recovered"; readonly at: Seconds };

interface Running<J extends Job> extends Paced {
  readonly job: J;
  /** Work left when the segment began, in seconds at full speed. */
  left: number;
}

/** Where and when a node begins. */
export interface Beginning {
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
export class SimulatedNode<J extends Job = Job> {
  readonly model: NodeModel;
  readonly #running = new Map<string, Running<J>>();
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
  #ending: Running<J> | undefined;

  /** Starts idle, and as warm as an idle node is. */
  constructor(model: NodeModel, { at, ambient }: Beginning = {}) {
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
  advance(to: Seconds): Happening<J> | undefined {
    if (this.#endsAt <= to && this.#endsAt < END_OF_TIME) return this.#happen(this.#endsAt);
    if (to > this.#now && to < END_OF_TIME) this.#now = to;
    return undefined;
  }

  /** False where a job of this id runs already: a job is started once. */
  start(job: J): boolean {
    if (this.#running.has(job.id)) return false;
    const demand = demandOf(job);
    this.#endSegment();
    this.#running.set(job.id, { job, demand, left: demand.work, rate: 0 });
    this.#beginSegment();
    return true;
  }

  /** Takes a job away before its end, and tells the work it leaves undone. Absent where it does not run. */
  stop(id: string): Seconds | undefined {
    const running = this.#running.get(id);
    if (running === undefined) return undefined;
    this.#endSegment();
    this.#running.delete(id);
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
    return this.#running.size;
  }

  *jobs(): Generator<J> {
    for (const { job } of this.#running.values()) yield job;
  }

  /** Work left of a job, in seconds at full speed; absent where it does not run. */
  leftOf(id: string): Seconds | undefined {
    const running = this.#running.get(id);
    return running && seconds(leftAfter(running, this.#elapsed()));
  }

  /** Work a job does per second, 1 at full speed; absent where it does not run. */
  rateOf(id: string): number | undefined {
    return this.#running.get(id)?.rate;
  }

  #elapsed(): Seconds {
    return seconds(this.#now - this.#since);
  }

  #happen(at: Seconds): Happening<J> {
    const ending = this.#ending;
    this.#now = at;
    this.#endSegment();
    if (ending === undefined) this.#turn();
    else this.#running.delete(ending.job.id);
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
    for (const running of this.#running.values()) running.left = leftAfter(running, elapsed);
    this.#since = this.#now;
  }

  /** Works out what is true from here on, and until when. */
  #beginSegment(): void {
    const { model } = this;
    operate(this.#operation, model, this.#running, this.#caps, this.#hot ? model.thermal.hotClock : 1);
    this.#settled = settledAt(model.thermal, this.watts, this.#ambient);
    const { throttleAt, resumeAt } = model.thermal;
    let soonest: number = timeToReach(
      model.thermal,
      this.#temperature,
      this.#settled,
      this.#hot ? resumeAt : throttleAt,
      !this.#hot,
    );
    this.#ending = undefined;
    for (const running of this.#running.values()) {
      const time = running.left > 0 ? running.left / running.rate : 0;
      if (time > soonest || time === Number.POSITIVE_INFINITY) continue;
      // Of two that are done at the same time, the one that started first.
      if (time === soonest && this.#ending !== undefined) continue;
      soonest = time;
      this.#ending = running;
    }
    this.#endsAt = seconds(this.#since + soonest);
  }
}

/** Anything else is no temperature a computer has ever breathed. */
const isAir = (ambient: Celsius | undefined): ambient is Celsius => ambient !== undefined && Math.abs(ambient) < 1000;

/** A service has no end: infinity less what was done stays infinity. */
const leftAfter = ({ left, rate }: Running<Job>, time: Seconds): number => Math.max(0, left - rate * time);
