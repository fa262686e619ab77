// A fake machine in memory: packages, GPUs and a throttle that tests control.
import type { Node, NodeHardwareStatus } from "../../../core/api/index.ts";
import { type CapDevice, kilohertz, type WriteOutcome } from "../../../core/control/index.ts";
import { joules, type Watts, watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type {
  CapBoard,
  DeviceKind,
  EnergyMeter,
  PolicyFrequency,
  PowerCapBackend,
  ThrottleBackend,
} from "../../../platform/hardware/index.ts";
import type { DiscoverOptions, HostMachine } from "../host/host.ts";

class FakeCaps implements PowerCapBackend {
  readonly name: string;
  readonly kind: DeviceKind;
  /** Current limit of each board. */
  readonly limits = new Map<string, number>();
  readonly boards: CapBoard[] = [];
  /** Every write, in order. */
  readonly writes: string[] = [];
  absent: string | undefined;
  /** If set, the outcome of every write; nothing is changed. */
  refusal: WriteOutcome | undefined;
  /** Power of each board, for GPUs. */
  readonly draws = new Map<string, number | undefined>();
  /** If set, limits cannot be read for this reason. */
  unreadable: string | undefined;
  /** Called before each write; a test may throw here to simulate a crash. */
  beforeWrite: (what: string) => void = () => {};

  constructor(name: string, kind: DeviceKind, boards: Readonly<Record<string, CapDevice>> = {}) {
    this.name = name;
    this.kind = kind;
    for (const [id, device] of Object.entries(boards)) this.add(id, device);
  }

  add(id: string, device: CapDevice, more: Partial<CapBoard> = {}): void {
    this.boards.push({ id, device, ...more });
    this.limits.set(id, device.max ?? 400);
  }

  change(id: string, more: Partial<CapBoard>): void {
    const at = this.boards.findIndex((board) => board.id === id);
    const board = this.boards[at];
    if (board !== undefined) this.boards[at] = { ...board, ...more };
  }

  async discover() {
    return this.absent === undefined ? { boards: [...this.boards] } : { absent: this.absent };
  }

  async limit(id: string) {
    const limit = this.limits.get(id);
    const { unreadable = "no such board" } = this;
    return limit === undefined || this.unreadable !== undefined ? { unreadable } : { limit: watts(limit) };
  }

  async cap(id: string, limit: Watts): Promise<WriteOutcome> {
    return this.#write(`cap ${id} ${limit}`, id, limit);
  }

  async original(id: string) {
    const limit = this.limits.get(id);
    return limit === undefined ? { unreadable: "no such board" } : { original: String(limit) };
  }

  async restore(id: string, original: string): Promise<WriteOutcome> {
    return this.#write(`restore ${id} ${original}`, id, Number(original));
  }

  async power() {
    return this.boards.map(({ id }) => ({ id, power: this.draws.get(id) as Watts | undefined }));
  }

  #write(what: string, id: string, limit: number): WriteOutcome {
    this.beforeWrite(what);
    this.writes.push(what);
    if (this.refusal !== undefined) return this.refusal;
    this.limits.set(id, limit);
    return { result: "applied" };
  }
}

class FakeThrottle implements ThrottleBackend {
  readonly name = "dvfs";
  throttlePct = 0;
  #set = 0;
  readonly writes: string[] = [];
  absent: string | undefined;
  refusal: WriteOutcome | undefined;
  beforeWrite: (what: string) => void = () => {};

  async discover() {
    return { absent: this.absent };
  }

  /** Writes only differences, like the cpufreq backend. */
  async throttle(throttlePct: number): Promise<WriteOutcome> {
    if (throttlePct === this.throttlePct) return { result: "applied" };
    return this.#write(`throttle ${throttlePct}`, throttlePct);
  }

  raisedByOthers(): string | undefined {
    return this.throttlePct < this.#set ? `the throttle to ${this.throttlePct} %` : undefined;
  }

  async relax(throttlePct: number): Promise<WriteOutcome> {
    const now = this.throttlePct;
    const outcome = this.#write(`ease ${throttlePct}`, throttlePct);
    this.throttlePct = Math.min(now, this.throttlePct);
    return outcome;
  }

  async original() {
    return { original: `throttled by ${this.throttlePct}` };
  }

  async restore(original: string): Promise<WriteOutcome> {
    return this.#write(`restore ${original}`, Number(original.replace("throttled by ", "")));
  }

  #write(what: string, throttlePct: number): WriteOutcome {
    this.beforeWrite(what);
    this.writes.push(what);
    if (this.refusal !== undefined) return this.refusal;
    this.throttlePct = throttlePct;
    this.#set = throttlePct;
    return { result: "applied" };
  }
}

/** Two packages of 350 W with RAPL, cpufreq and energy counters; a test may add GPUs. */
export class FakeMachine implements HostMachine {
  readonly rapl = new FakeCaps("rapl", "cpu", { "package-0": PACKAGE, "package-1": PACKAGE });
  readonly gpu = new FakeCaps("nvml", "gpu");
  readonly throttle = new FakeThrottle();
  readonly cpuCaps: readonly PowerCapBackend[] = [this.rapl];
  readonly energy: EnergyMeter;
  /** Power of each package in watts. A package without an entry has no energy counter. */
  readonly draws = new Map<string, number>([
    ["package-0", 100],
    ["package-1", 100],
  ]);
  boot = "a-boot";
  hardware: NodeHardwareStatus = { cpu: { vendor: "intel", sockets: 2, totalCores: 64, controlAvailable: true } };
  discoveries = 0;
  closed = false;
  readonly #clock: Clock;
  readonly #counters = new Map<string, { energy: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.gpu.absent = "no GPU backend works on this node: libnvidia-ml.so.1 is not installed";
    this.energy = {
      name: "rapl",
      sample: () => ({
        zones: [...this.draws].map(([zone, power]) => ({
          zone,
          board: zone.replace(/-die-.*/, ""),
          counter: { range: joules(262_143), ratedPower: watts(350) },
          sample: { energy: joules(this.#count(zone, power)), at: this.#clock.monotonic() },
        })),
        ...(this.draws.size === 0 && { missing: "there is no powercap on this machine" }),
      }),
    };
  }

  /** Sets the total power of all packages. */
  draw(total: number): void {
    for (const zone of this.draws.keys()) this.#count(zone, this.draws.get(zone) ?? 0);
    for (const zone of this.draws.keys()) this.draws.set(zone, total / this.draws.size);
  }

  /** All writes to RAPL, GPUs and the throttle. */
  get writes(): readonly string[] {
    return [this.rapl, this.gpu, this.throttle].flatMap(({ writes }) => writes);
  }

  async discover(_node?: Node, _signal?: AbortSignal, _options?: DiscoverOptions): Promise<NodeHardwareStatus> {
    this.discoveries++;
    return this.hardware;
  }

  async frequencies(withCurrent: boolean): Promise<readonly PolicyFrequency[]> {
    return [{ cpu: 0, max: kilohertz(3_800_000), ...(withCurrent && { current: kilohertz(1_900_000) }) }];
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  #count(zone: string, power: number): number {
    const now = this.#clock.monotonic();
    const counter = this.#counters.get(zone) ?? { energy: 0, at: now };
    const energy = counter.energy + (power * (now - counter.at)) / 1000;
    this.#counters.set(zone, { energy, at: now });
    return energy % 262_143;
  }
}

const PACKAGE: CapDevice = { min: watts(50), max: watts(350), step: watts(1 / 8) };
