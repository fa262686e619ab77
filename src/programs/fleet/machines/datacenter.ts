import type { NodePowerState } from "../../../core/api/index.ts";
import { defaultFacility, type FacilityOutput, facilityAt, inletAt, outsideAt } from "../../../core/physics/index.ts";
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
} from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import type { PodJob } from "../pods/pod-job.ts";
import type { MachineSpec } from "./machine-specs.ts";
import { type CapViolation, type PerformanceLevel, SimulatedMachine } from "./simulated-machine.ts";

export interface DatacenterOptions {
  readonly fleet: readonly MachineSpec[];
  /** Simulated time. */
  readonly clock: Clock;
  /** Of the site at the start, in seconds after midnight; by default that of the clock. */
  readonly timeOfDay?: Seconds | undefined;
  readonly level: PerformanceLevel;
  readonly onFinished: (job: PodJob, at: Instant) => void;
  readonly onSwitched?: (node: string, power: NodePowerState) => void;
  readonly bootFails?: () => boolean;
}

export type PowerAction = "on" | "shutdown" | "forceOff";

export interface DatacenterTotals {
  readonly seconds: Seconds;
  readonly watts: Watts;
  /** Exact: power is constant between events. */
  readonly joules: Joules;
  /** Of whole servers. */
  readonly wall: { readonly watts: Watts; readonly joules: Joules };
  /** Modelled, of whole servers: the same jobs on the same nodes, without caps and with every node always on. */
  readonly alwaysOn: { readonly watts: Watts; readonly joules: Joules };
  readonly pods: number;
  readonly performancePods: number;
  readonly capChanges: number;
}

export interface CapViolations {
  readonly pods: number;
  readonly podSeconds: number;
  readonly first: readonly CapViolation[];
}

const FIRST_OFFENCES = 100;
const DAY = 24 * 3600;
/** Update interval of the inlet temperature, in simulated time: about the time it takes to change by 0.1 °C. */
const AIR_EVERY = milliseconds(60_000);

/** All simulated nodes and the facility. A node is advanced only when it is read, changed, or has an event due. */
export class Datacenter {
  readonly #options: DatacenterOptions;
  readonly #machines: ReadonlyMap<string, SimulatedMachine>;
  readonly #timers = new Map<SimulatedMachine, { readonly due: Seconds; readonly timer: Timer }>();
  readonly #begun: MonotonicInstant;
  readonly #midnight: Seconds;
  readonly #offences: CapViolation[] = [];
  #offencesCount = 0;
  #air: Timer | undefined;

  constructor(options: DatacenterOptions) {
    const { fleet, clock, level, onFinished } = options;
    this.#options = options;
    this.#begun = clock.monotonic();
    this.#midnight = options.timeOfDay ?? seconds((clock.now() / 1000) % DAY);
    const beginning = { at: seconds(0), ambient: this.#inlet() };
    const machines = fleet.map((spec) => {
      const machine = new SimulatedMachine(spec, beginning, {
        level,
        finished: (job, at) => onFinished(job, this.#calendar(at)),
        offended: (offence) => {
          this.#offencesCount++;
          if (this.#offences.length < FIRST_OFFENCES) this.#offences.push(offence);
        },
        switched: (power) => options.onSwitched?.(spec.name, power),
      });
      return [spec.name, machine] as const;
    });
    this.#machines = new Map(machines);
  }

  start(): void {
    this.#air = this.#options.clock.after(AIR_EVERY, () => {
      const inlet = this.#inlet();
      for (const machine of this.#machines.values()) this.change(machine, () => machine.setAmbient(inlet));
      this.start();
    });
  }

  stop(): void {
    this.#air?.cancel();
    for (const { timer } of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  get now(): Seconds {
    return inSeconds(elapsed(this.#begun, this.#options.clock.monotonic()));
  }

  get size(): number {
    return this.#machines.size;
  }

  has(name: string): boolean {
    return this.#machines.has(name);
  }

  machine(name: string): SimulatedMachine | undefined {
    const machine = this.#machines.get(name);
    if (machine !== undefined) this.#bring(machine);
    return machine;
  }

  *machines(): IterableIterator<SimulatedMachine> {
    for (const machine of this.#machines.values()) {
      this.#bring(machine);
      yield machine;
    }
  }

  change<Result>(machine: SimulatedMachine, act: () => Result): Result {
    machine.advance(this.now);
    const result = act();
    this.#arm(machine);
    return result;
  }

  /** Presses the power switch of a machine. A machine that does not run cannot shut down, so nothing happens then. */
  press(machine: SimulatedMachine, action: PowerAction): void {
    machine.advance(this.now);
    const before = machine.power;
    this.change(machine, () => {
      if (action === "on") machine.switchOn(this.#options.bootFails?.() === true);
      else if (action === "forceOff") machine.cutPower();
      else if (before === "on") machine.shutDown();
    });
    if (machine.power !== before) this.#options.onSwitched?.(machine.spec.name, machine.power);
  }

  get totals(): DatacenterTotals {
    const sum = { watts: 0, joules: 0, pods: 0, performancePods: 0, capChanges: 0 };
    const wall = { watts: 0, joules: 0 };
    const alwaysOn = { watts: 0, joules: 0 };
    // One point in time for all: on a busy machine this loop may take a while.
    const { now } = this;
    for (const machine of this.#machines.values()) {
      this.#bring(machine, now);
      sum.watts += machine.watts;
      sum.joules += machine.physics.joules;
      sum.pods += machine.physics.jobCount;
      sum.performancePods += machine.performanceJobs;
      sum.capChanges += machine.capChanges;
      wall.watts += machine.physics.wallWatts;
      wall.joules += machine.physics.wallJoules;
      alwaysOn.watts += machine.alwaysOn.wallWatts;
      alwaysOn.joules += machine.alwaysOn.wallJoules;
    }
    return {
      ...sum,
      wall: { watts: watts(wall.watts), joules: joules(wall.joules) },
      alwaysOn: { watts: watts(alwaysOn.watts), joules: joules(alwaysOn.joules) },
      seconds: now,
      watts: watts(sum.watts),
      joules: joules(sum.joules),
    };
  }

  get offences(): CapViolations {
    let podSeconds = 0;
    for (const machine of this.machines()) podSeconds += machine.heldSeconds;
    return { pods: this.#offencesCount, podSeconds, first: this.#offences };
  }

  facility(machines: Iterable<SimulatedMachine> = this.machines()): FacilityOutput {
    let [it, rated] = [0, 0];
    for (const machine of machines) {
      it += machine.watts;
      rated += machine.spec.model.full;
    }
    return facilityAt(defaultFacility, this.timeOfDay, watts(it), watts(rated));
  }

  #calendar(at: Seconds): Instant {
    return after(this.#options.clock.now(), milliseconds(1000 * (at - this.now)));
  }

  /** Of the site, in seconds after midnight. */
  get timeOfDay(): Seconds {
    return seconds((this.#midnight + this.now) % DAY);
  }

  /** Rounded to 0.1 °C: smaller steps would only add simulation segments. */
  #inlet() {
    return celsius(Math.round(10 * inletAt(defaultFacility, outsideAt(defaultFacility, this.timeOfDay))) / 10);
  }

  #bring(machine: SimulatedMachine, now = this.now): void {
    const due = machine.physics.nextAt;
    machine.advance(now);
    if (machine.physics.nextAt !== due) this.#arm(machine);
  }

  #arm(machine: SimulatedMachine): void {
    const due = machine.physics.nextAt;
    const armed = this.#timers.get(machine);
    if (armed?.due === due) return;
    armed?.timer.cancel();
    this.#timers.delete(machine);
    if (due === undefined) return;
    // At least one millisecond: a shorter remainder would not move the clock and the wait would never end.
    const rest = milliseconds(Math.max(1, Math.ceil((due - this.now) * 1000)));
    const timer = this.#options.clock.after(rest, () => {
      this.#timers.delete(machine);
      machine.advance(this.now);
      this.#arm(machine);
    });
    this.#timers.set(machine, { due, timer });
  }
}
