import { type Caps, SimulatedNode, type SimulatedNodeEvent } from "../../core/physics/index.ts";
import { type Celsius, type Joules, joules, type Percent, type Seconds, type Watts } from "../../core/units/index.ts";
import type { MachineSpec } from "./fleet.ts";
import type { PodJob } from "./pod-job.ts";

/** Caps from a moment on. */
export interface CapChange {
  readonly at: Seconds;
  readonly caps: Caps;
}

/** A performance pod that worked while its node was capped below the performance level. */
export interface Offence {
  readonly at: Seconds;
  readonly node: string;
  readonly pod: string;
  readonly caps: Caps;
}

/** The shares of their maximum that performance nodes are capped at. */
export interface PerformanceLevel {
  readonly cpuPct: Percent;
  readonly gpuPct: Percent;
}

export interface MachineEvents {
  readonly level: PerformanceLevel;
  finished(job: PodJob, at: Seconds): void;
  offended(offence: Offence): void;
}

const CAPS_REMEMBERED = 64;
/** Caps are computed as shares; half a watt is no cap of another level. */
const TOLERANCE = 0.5;
const NONE: readonly PodJob[] = [];

/**
 * A simulated node with a book of what was asked of it: caps over time, energy as its power samples have it, and performance
 * pods that were held below the performance level. Whoever looks at it or changes it takes it to the present first.
 */
export class Machine {
  readonly spec: MachineSpec;
  readonly #physics: SimulatedNode<PodJob>;
  readonly #events: MachineEvents;
  readonly #capLog: CapChange[] = [];
  readonly #offenders = new Set<string>();
  #capChanges = 0;
  #performanceJobs = 0;
  #sampledJoules = 0;
  #sampledAt: Seconds;
  #heldSeconds = 0;

  constructor(
    spec: MachineSpec,
    beginning: { readonly at: Seconds; readonly ambient: Celsius },
    events: MachineEvents,
  ) {
    this.spec = spec;
    this.#events = events;
    this.#physics = new SimulatedNode(spec.model, beginning);
    this.#sampledAt = beginning.at;
  }

  /** For reading; changes go through this class. */
  get physics(): Readonly<Omit<SimulatedNode<PodJob>, "advance" | "start" | "stop" | "setCaps" | "setAmbient">> {
    return this.#physics;
  }

  /** Brings it to a time, and tells what happened on the way. */
  advance(to: Seconds): void {
    for (;;) {
      const before = this.#physics.watts;
      const held = this.#held();
      const happening = this.#physics.advance(to);
      this.#book(before, held);
      if (happening === undefined) return;
      this.#happened(happening);
    }
  }

  start(job: PodJob): boolean {
    const started = this.#physics.start(job);
    if (started && job.performance) this.#performanceJobs++;
    return started;
  }

  works(job: PodJob): boolean {
    return this.#physics.rateOf(job.id) !== undefined;
  }

  /** Whether it worked here. */
  stop(job: PodJob): boolean {
    if (this.#physics.stop(job.id) === undefined) return false;
    this.#left(job);
    return true;
  }

  /** Changes the caps that are named; the others stay. */
  cap(change: Caps): void {
    this.#physics.setCaps({ ...this.#physics.caps, ...change });
    const { caps } = this.#physics;
    // The physics keeps the caps it has when the new ones are no others.
    if (this.#capLog.at(-1)?.caps === caps) return;
    this.#capChanges++;
    this.#capLog.push({ at: this.#physics.now, caps });
    if (this.#capLog.length > CAPS_REMEMBERED) this.#capLog.shift();
  }

  breathe(ambient: Celsius): void {
    this.#physics.setAmbient(ambient);
  }

  get watts(): Watts {
    return this.#physics.watts;
  }

  /** Power seen times how long it was seen: what an ideal meter would have counted. */
  get sampledJoules(): Joules {
    return joules(this.#sampledJoules);
  }

  /** The last caps it was given, oldest first, and how often they changed in all. */
  get capLog(): readonly CapChange[] {
    return this.#capLog;
  }

  get capChanges(): number {
    return this.#capChanges;
  }

  /** Seconds that performance pods worked below the performance level, added up over the pods. */
  get heldSeconds(): number {
    return this.#heldSeconds;
  }

  get performanceJobs(): number {
    return this.#performanceJobs;
  }

  #book(watts: Watts, held: readonly PodJob[]): void {
    const { now } = this.#physics;
    const passed = now - this.#sampledAt;
    if (passed <= 0) return;
    this.#sampledAt = now;
    this.#sampledJoules += watts * passed;
    this.#heldSeconds += passed * held.length;
    for (const job of held) this.#offended(job);
  }

  #offended({ id, key }: PodJob): void {
    if (this.#offenders.has(id)) return;
    this.#offenders.add(id);
    const { now, caps } = this.#physics;
    this.#events.offended({ at: now, node: this.spec.name, pod: key, caps });
  }

  /** The performance pods that work here while caps are below their level. */
  #held(): readonly PodJob[] {
    if (this.#performanceJobs === 0 || !this.#isBelow()) return NONE;
    return [...this.#physics.jobs()].filter((job) => job.performance);
  }

  #isBelow(): boolean {
    const { cpuWattsPerPackage: cpu, gpuWattsPerBoard: gpu, throttlePct = 0 } = this.#physics.caps;
    const { hardware } = this.spec;
    const { cpuPct, gpuPct } = this.#events.level;
    const below = (cap: Watts | undefined, max: Watts | undefined, pct: Percent): boolean =>
      cap !== undefined && max !== undefined && cap < (max * pct) / 100 - TOLERANCE;
    return (
      throttlePct > 0 ||
      below(cpu, hardware.cpu.maxWattsPerSocket, cpuPct) ||
      below(gpu, hardware.gpu?.maxWatts, gpuPct)
    );
  }

  #happened(happening: SimulatedNodeEvent<PodJob>): void {
    if (happening.kind !== "finished") return;
    this.#left(happening.job);
    this.#events.finished(happening.job, happening.at);
  }

  #left(job: PodJob): void {
    if (job.performance) this.#performanceJobs--;
    this.#offenders.delete(job.id);
  }
}
