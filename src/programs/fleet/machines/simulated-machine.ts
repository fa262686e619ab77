import type { NodePowerState } from "../../../core/api/index.ts";
import { type Caps, SimulatedNode, type SimulatedNodeEvent } from "../../../core/physics/index.ts";
import type { Celsius, Percent, Seconds, Watts } from "../../../core/units/index.ts";
import type { PodJob } from "../pods/pod-job.ts";
import type { MachineSpec } from "./machine-specs.ts";

/** A performance pod that ran while its node was capped below the performance level. */
export interface CapViolation {
  readonly at: Seconds;
  readonly node: string;
  readonly pod: string;
  readonly caps: Caps;
}

/** Caps of performance nodes in percent of the maximum. */
export interface PerformanceLevel {
  readonly cpuPct: Percent;
  readonly gpuPct: Percent;
}

export interface MachineEvents {
  readonly level: PerformanceLevel;
  finished(job: PodJob, at: Seconds): void;
  offended(offence: CapViolation): void;
  switched(power: NodePowerState): void;
}

type PhysicsChange = "advance" | "start" | "stop" | "setCaps" | "setAmbient" | "shutDown" | "cutPower" | "switchOn";
/** In watts, for rounding: caps are computed as percentages. */
const TOLERANCE = 0.5;
const NONE: readonly PodJob[] = [];

/** A simulated node with records of caps and of violations. Callers advance it before they read or change it. */
export class SimulatedMachine {
  readonly spec: MachineSpec;
  readonly newestCommands = new Map<string, number>();
  readonly #physics: SimulatedNode<PodJob>;
  /** The same jobs on the same hardware without caps and always on: what the machine would draw without Joulie. */
  readonly #alwaysOn: SimulatedNode<PodJob>;
  readonly #events: MachineEvents;
  readonly #offenders = new Set<string>();
  #capChanges = 0;
  #performanceJobs = 0;
  #bookedAt: Seconds;
  #heldSeconds = 0;

  constructor(
    spec: MachineSpec,
    beginning: { readonly at: Seconds; readonly ambient: Celsius },
    events: MachineEvents,
  ) {
    this.spec = spec;
    this.#events = events;
    this.#physics = new SimulatedNode(spec.model, beginning);
    this.#alwaysOn = new SimulatedNode(spec.model, beginning);
    this.#bookedAt = beginning.at;
  }

  /** Read-only; changes go through this class. */
  get physics(): Readonly<Omit<SimulatedNode<PodJob>, PhysicsChange>> {
    return this.#physics;
  }

  /** Power and energy at the wall if the machine had no caps and were always on. Its jobs start at the same times. */
  get alwaysOn(): Readonly<Pick<SimulatedNode<PodJob>, "wallWatts" | "wallJoules" | "jobCount">> {
    return this.#alwaysOn;
  }

  /** Advances to a time and reports the events on the way. */
  advance(to: Seconds): void {
    while (this.#alwaysOn.advance(to) !== undefined);
    for (;;) {
      const held = this.#held();
      const happening = this.#physics.advance(to);
      this.#book(held);
      if (happening === undefined) return;
      this.#happened(happening);
    }
  }

  start(job: PodJob): boolean {
    const started = this.#physics.start(job);
    if (started) this.#alwaysOn.start(job);
    if (started && job.performance) this.#performanceJobs++;
    return started;
  }

  works(job: PodJob): boolean {
    return this.#physics.rateOf(job.id) !== undefined;
  }

  stop(job: PodJob): boolean {
    if (this.#physics.stop(job.id) === undefined) return false;
    this.#alwaysOn.stop(job.id);
    this.#left(job);
    return true;
  }

  get power(): NodePowerState {
    return this.#physics.power;
  }

  shutDown(): void {
    this.#lose(this.#physics.shutDown());
  }

  cutPower(): void {
    this.#lose(this.#physics.cutPower());
  }

  /** Starts to boot, if the machine is off. A boot that fails leaves it hanging until its power is cut. */
  switchOn(fails: boolean): void {
    this.#physics.switchOn(fails);
  }

  #lose(jobs: readonly PodJob[]): void {
    for (const job of jobs) {
      this.#alwaysOn.stop(job.id);
      this.#left(job);
    }
    // Firmware sets the limits again when the machine starts.
    this.#setCaps({});
  }

  cap(change: Caps): void {
    this.#setCaps({ ...this.#physics.caps, ...change });
  }

  #setCaps(wanted: Caps): void {
    const before = this.#physics.caps;
    this.#physics.setCaps(wanted);
    // The physics keeps the same object when nothing changed.
    if (this.#physics.caps !== before) this.#capChanges++;
  }

  setAmbient(ambient: Celsius): void {
    this.#physics.setAmbient(ambient);
    this.#alwaysOn.setAmbient(ambient);
  }

  get watts(): Watts {
    return this.#physics.watts;
  }

  get capChanges(): number {
    return this.#capChanges;
  }

  get heldSeconds(): number {
    return this.#heldSeconds;
  }

  get performanceJobs(): number {
    return this.#performanceJobs;
  }

  #book(held: readonly PodJob[]): void {
    const { now } = this.#physics;
    const passed = now - this.#bookedAt;
    if (passed <= 0) return;
    this.#bookedAt = now;
    this.#heldSeconds += passed * held.length;
    for (const job of held) this.#offended(job);
  }

  #offended({ id, key }: PodJob): void {
    if (this.#offenders.has(id)) return;
    this.#offenders.add(id);
    const { now, caps } = this.#physics;
    this.#events.offended({ at: now, node: this.spec.name, pod: key, caps });
  }

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
    if (happening.kind === "switched") this.#events.switched(happening.power);
    if (happening.kind !== "finished") return;
    this.#left(happening.job);
    this.#events.finished(happening.job, happening.at);
  }

  #left(job: PodJob): void {
    if (job.performance) this.#performanceJobs--;
    this.#offenders.delete(job.id);
  }
}
