import { defaultFacility, type FacilityOutput, facilityAt, inletAt, outsideAt } from "../../core/physics/index.ts";
import {
  after,
  celsius,
  elapsed,
  type Instant,
  inSeconds,
  type Joules,
  joules,
  type MonotonicInstant,
  milliseconds,
  type Seconds,
  seconds,
  type Watts,
  watts,
} from "../../core/units/index.ts";
import type { Clock, Timer } from "../../platform/clock/index.ts";
import type { MachineSpec } from "./fleet.ts";
import { Machine, type Offence, type PerformanceLevel } from "./machine.ts";
import type { PodJob } from "./pod-job.ts";

export interface DatacenterOptions {
  readonly fleet: readonly MachineSpec[];
  /** The simulated time. */
  readonly clock: Clock;
  readonly level: PerformanceLevel;
  /** A job has come to its end by itself, at a moment that may be a little ago. */
  readonly onFinished: (job: PodJob, at: Instant) => void;
}

/** Sums over all nodes. */
export interface Totals {
  /** Simulated seconds since the start. */
  readonly seconds: Seconds;
  readonly watts: Watts;
  /** Exact: power is constant between events. */
  readonly joules: Joules;
  /** Power samples times how long they stood: the same energy, counted another way. */
  readonly sampledJoules: Joules;
  readonly pods: number;
  readonly performancePods: number;
  readonly capChanges: number;
}

/** What is known of performance pods that were held below their level. */
export interface Offences {
  readonly pods: number;
  readonly podSeconds: number;
  /** The first ones. */
  readonly first: readonly Offence[];
}

const FIRST_OFFENCES = 100;
const DAY = 24 * 3600;
/** How often the air is looked at, in simulated time; it moves a tenth of a degree in about as long. */
const AIR_EVERY = milliseconds(60_000);

/**
 * All simulated nodes and the building around them, in simulated time. Nothing happens between events, so nodes stay where
 * they are until somebody looks at them, changes them, or something is due on them.
 */
export class Datacenter {
  readonly #options: DatacenterOptions;
  readonly #machines: ReadonlyMap<string, Machine>;
  readonly #timers = new Map<Machine, { readonly due: Seconds; readonly timer: Timer }>();
  readonly #begun: MonotonicInstant;
  /** Seconds after midnight when it began. */
  readonly #midnight: Seconds;
  readonly #offences: Offence[] = [];
  #offencesCount = 0;
  #air: Timer | undefined;

  constructor(options: DatacenterOptions) {
    const { fleet, clock, level, onFinished } = options;
    this.#options = options;
    this.#begun = clock.monotonic();
    this.#midnight = seconds((clock.now() / 1000) % DAY);
    const beginning = { at: seconds(0), ambient: this.#inlet() };
    const machines = fleet.map((spec) => {
      const machine = new Machine(spec, beginning, {
        level,
        finished: (job, at) => onFinished(job, this.#calendar(at)),
        offended: (offence) => {
          this.#offencesCount++;
          if (this.#offences.length < FIRST_OFFENCES) this.#offences.push(offence);
        },
      });
      return [spec.name, machine] as const;
    });
    this.#machines = new Map(machines);
  }

  /** The air follows the day from here on. */
  start(): void {
    this.#air = this.#options.clock.after(AIR_EVERY, () => {
      const inlet = this.#inlet();
      for (const machine of this.#machines.values()) this.change(machine, () => machine.breathe(inlet));
      this.start();
    });
  }

  stop(): void {
    this.#air?.cancel();
    for (const { timer } of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Simulated seconds since the start. */
  get now(): Seconds {
    return inSeconds(elapsed(this.#begun, this.#options.clock.monotonic()));
  }

  get size(): number {
    return this.#machines.size;
  }

  has(name: string): boolean {
    return this.#machines.has(name);
  }

  /** A node as it is now. */
  machine(name: string): Machine | undefined {
    const machine = this.#machines.get(name);
    if (machine !== undefined) this.#bring(machine);
    return machine;
  }

  /** All nodes as they are now. */
  *machines(): IterableIterator<Machine> {
    for (const machine of this.#machines.values()) {
      this.#bring(machine);
      yield machine;
    }
  }

  /** Does something to a node, now. */
  change<Result>(machine: Machine, act: () => Result): Result {
    machine.advance(this.now);
    const result = act();
    this.#arm(machine);
    return result;
  }

  get totals(): Totals {
    const sum = { watts: 0, joules: 0, sampledJoules: 0, pods: 0, performancePods: 0, capChanges: 0 };
    for (const machine of this.machines()) {
      sum.watts += machine.watts;
      sum.joules += machine.physics.joules;
      sum.sampledJoules += machine.sampledJoules;
      sum.pods += machine.physics.jobCount;
      sum.performancePods += machine.performanceJobs;
      sum.capChanges += machine.capChanges;
    }
    return {
      ...sum,
      seconds: this.now,
      watts: watts(sum.watts),
      joules: joules(sum.joules),
      sampledJoules: joules(sum.sampledJoules),
    };
  }

  get offences(): Offences {
    let podSeconds = 0;
    for (const machine of this.machines()) podSeconds += machine.heldSeconds;
    return { pods: this.#offencesCount, podSeconds, first: this.#offences };
  }

  /** What the building draws for these nodes, or for all. */
  facility(machines: Iterable<Machine> = this.machines()): FacilityOutput {
    let [it, rated] = [0, 0];
    for (const machine of machines) {
      it += machine.watts;
      rated += machine.spec.model.full;
    }
    return facilityAt(defaultFacility, this.#timeOfDay(), watts(it), watts(rated));
  }

  /** What the calendar said, or will say, at a moment of the simulation. */
  #calendar(at: Seconds): Instant {
    return after(this.#options.clock.now(), milliseconds(1000 * (at - this.now)));
  }

  #timeOfDay(): Seconds {
    return seconds(this.#midnight + this.now);
  }

  /** In tenths: a segment of every node for each smaller change would be work for nothing. */
  #inlet() {
    return celsius(Math.round(10 * inletAt(defaultFacility, outsideAt(defaultFacility, this.#timeOfDay()))) / 10);
  }

  #bring(machine: Machine): void {
    const due = machine.physics.nextAt;
    machine.advance(this.now);
    if (machine.physics.nextAt !== due) this.#arm(machine);
  }

  /** One timer for each node that something will happen to. */
  #arm(machine: Machine): void {
    const due = machine.physics.nextAt;
    const armed = this.#timers.get(machine);
    if (armed?.due === due) return;
    armed?.timer.cancel();
    this.#timers.delete(machine);
    if (due === undefined) return;
    // A whole millisecond at least: a rest too small to move the clock would be waited for for ever.
    const rest = milliseconds(Math.max(1, Math.ceil((due - this.now) * 1000)));
    const timer = this.#options.clock.after(rest, () => {
      this.#timers.delete(machine);
      machine.advance(this.now);
      this.#arm(machine);
    });
    this.#timers.set(machine, { due, timer });
  }
}
