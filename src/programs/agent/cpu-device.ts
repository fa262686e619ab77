import {
  type CapDevice,
  type CapIntent,
  type CapResolution,
  type ControlMode,
  type CpuAction,
  type CpuBackend,
  type CpuPlan,
  type DvfsSettings,
  dvfsBand,
  planCpu,
  pooledTarget,
  resolveCap,
  type WriteOutcome,
} from "../../core/control/index.ts";
import type { HardwareView } from "../../core/inventory/index.ts";
import { type Percent, type Watts, watts } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { PowerCapBackend, ThrottleBackend } from "../../platform/hardware/index.ts";
import type { Journal } from "../../platform/journal/index.ts";
import { CapKeeper, type Seat } from "./cap-keeper.ts";
import { firstPresent, seatsOf } from "./host.ts";
import { type DeviceReport, together, words } from "./outcomes.ts";
import type { Reading } from "./power.ts";
import { ThrottleKeeper } from "./throttle-keeper.ts";

export interface CpuTick {
  readonly mode: ControlMode;
  /** What the route offers. */
  readonly caps: readonly PowerCapBackend[];
  readonly throttle: ThrottleBackend | undefined;
  readonly intent: CapIntent;
  readonly view: HardwareView;
  readonly power: Reading;
  /** The throttle that a service reports. */
  readonly reportedThrottle: number | undefined;
  /** Plan, and touch nothing. */
  readonly simulate: boolean;
  readonly onThrottle: (kind: "throttle_up" | "throttle_down") => void;
  readonly signal: AbortSignal;
}

export interface CpuReport extends DeviceReport {
  readonly mode: CpuBackend;
  /** What is asked of one package, in watts, where that is known. */
  readonly cap?: Watts | undefined;
  readonly throttlePct: Percent;
}

/** A plan is made again after each write that matters; more often than this it goes round in circles. */
const MOST_PLANS = 8;
/** Full throttle that leaves power above the band for so many ticks is all that can be done, and not enough. */
const TICKS_TO_FAIL = 3;

/** The CPUs of one node. */
export class CpuDevice {
  readonly #keeper: CapKeeper;
  readonly #throttle: ThrottleKeeper;
  readonly #settings: DvfsSettings;

  constructor(node: string, journal: Journal, clock: Clock, settings: DvfsSettings) {
    this.#keeper = new CapKeeper(node, journal, clock);
    this.#throttle = new ThrottleKeeper(node, journal, clock, settings);
    this.#settings = settings;
  }

  get dvfs() {
    return this.#throttle.dvfs;
  }

  async tick(tick: CpuTick): Promise<CpuReport> {
    const { signal, power } = tick;
    this.#keeper.unkept = undefined;
    this.#throttle.adopt(tick.throttle, tick.reportedThrottle);
    const found = await firstPresent(tick.caps, signal);
    const seats = seatsOf(found);
    const usable = seats.some(({ board }) => board.locked === undefined && board.lost === undefined);
    const noThrottle = tick.throttle === undefined ? "no throttle" : (await tick.throttle.look(signal)).absent;
    for (const seat of seats) this.#keeper.observe(seat, powerOf(seat, power), power.since);
    const device = await this.#device(seats, tick);
    const packages = found.backend?.name === "http" || seats.length === 0 ? tick.view.cpu.sockets : seats.length;
    const run = new CpuRun(tick, seats, packages, this.#keeper, this.#throttle);
    const cap = resolveCap(tick.intent, device);
    const plan = await run.carryOut(cap, usable, noThrottle === undefined);
    const reasons = run.neededButAbsent(plan, found.absent, seats, noThrottle);
    const report = this.#judge(plan, run, cap, reasons);
    if (
      !tick.simulate &&
      plan.backend !== "dvfs" &&
      tick.throttle !== undefined &&
      this.#throttle.isIdle(tick.throttle)
    )
      await this.#throttle.restore(tick.throttle, signal);
    return report;
  }

  /** The range that fits all packages, with the limit of each before us; a maximum that the machine does not tell is the catalogue's. */
  async #device(seats: readonly Seat[], { view, signal }: CpuTick): Promise<CapDevice> {
    const devices = await Promise.all(seats.map(async (seat) => this.#keeper.device(seat, signal)));
    const { maxWattsPerSocket: known, from, warning } = view.cpu;
    const least = (pick: (device: CapDevice) => Watts | undefined) => extreme(devices.map(pick), Math.min);
    const told = least(({ max }) => max);
    // A power file may hold a mere ceiling of the firmware, which the catalogue knows better.
    const beyond = told !== undefined && warning !== undefined && told > known;
    const max = told === undefined || beyond ? (from.maxWatts === "fallback" ? undefined : known) : told;
    return {
      min: extreme(
        devices.map((device) => device.min),
        Math.max,
      ),
      max,
      original: least(({ original }) => original),
      registerMost: least(({ registerMost }) => registerMost),
      step: extreme(
        devices.map(({ step }) => step),
        Math.max,
      ),
    };
  }

  #judge(plan: CpuPlan, run: CpuRun, cap: CapResolution, reasons: string): CpuReport {
    const { result = "error", message = "planned again and again and came to no end" } = plan.report ?? {};
    const base = {
      mode: plan.backend,
      backend: run.nameOf(plan.backend),
      cap: cap.kind === "watts" ? cap.watts : undefined,
      throttlePct: this.#throttle.dvfs.throttlePct,
    };
    if (run.simulated !== undefined)
      return { ...base, result: "none", message: words(`simulate only: ${run.simulated}`, message, reasons) };
    const tell = (over: Pick<DeviceReport, "result" | "alarm" | "unproven">, ...more: (string | undefined)[]) => ({
      ...base,
      ...over,
      message: words(message, ...more, reasons),
    });
    if (run.contested !== undefined)
      return tell({ result, alarm: { reason: "CapContested", note: run.contested } }, run.contested);
    if (result !== "applied" || cap.kind === "uncapped") return tell({ result });
    // A throttle could not be kept either: that none was needed so far makes no success of it.
    if (this.#keeper.unkept !== undefined) return tell({ result: "blocked" }, this.#keeper.unkept);
    if (plan.backend === "dvfs") {
      const judged = this.#judgeThrottle(cap, run.packages);
      return tell(judged, judged.alarm?.note);
    }
    const undone = words(...run.undone);
    if (undone !== "") return tell({ result: "error", unproven: true }, undone);
    const verdicts = run.seats.map((seat) => ({ seat, verdict: this.#keeper.verdict(seat) }));
    const broken = verdicts.filter(({ verdict }) => verdict === "not effective").map(({ seat }) => seat.board.id);
    if (broken.length > 0) {
      const note = `not effective: ${broken.join(", ")} stays above the cap although it reads back; firmware, or another limit, decides`;
      return tell({ result: "error", unproven: true, alarm: { reason: "CapNotEffective", note } }, note);
    }
    const untested = verdicts.some(({ verdict }) => verdict === undefined || verdict === "not yet tested by load");
    return tell({ result, unproven: untested }, untested ? "not yet tested by load" : undefined);
  }

  #judgeThrottle(cap: CapResolution, packages: number): Pick<DeviceReport, "result" | "alarm" | "unproven"> {
    const { ema, above, throttlePct } = this.#throttle.dvfs;
    const target = cap.kind === "watts" ? pooledTarget(cap.watts, packages) : undefined;
    if (target === undefined || ema === undefined) return { result: "applied", unproven: true };
    const over = ema > dvfsBand(target, this.#settings).upper;
    if (!over || throttlePct < 100 || above < TICKS_TO_FAIL)
      return { result: "applied", unproven: ema <= target && throttlePct === 0 };
    const note = `not effective: fully throttled, and still above ${target} W`;
    return { result: "error", unproven: true, alarm: { reason: "CapNotEffective", note } };
  }
}

/** One tick's plans and what became of them. */
class CpuRun {
  readonly seats: readonly Seat[];
  readonly packages: number;
  readonly undone: string[] = [];
  contested: string | undefined;
  /** What would have been done. */
  simulated: string | undefined;
  readonly #tick: CpuTick;
  readonly #keeper: CapKeeper;
  readonly #throttle: ThrottleKeeper;

  constructor(tick: CpuTick, seats: readonly Seat[], packages: number, keeper: CapKeeper, throttle: ThrottleKeeper) {
    this.#tick = tick;
    this.seats = seats;
    this.packages = packages;
    this.#keeper = keeper;
    this.#throttle = throttle;
  }

  /** Plans, acts, and plans again with what came of it, until nothing is left to do. */
  async carryOut(cap: CapResolution, raplAvailable: boolean, dvfsAvailable: boolean): Promise<CpuPlan> {
    const { mode, power, simulate, signal } = this.#tick;
    let raplCap = await this.#inForce();
    let raplWrite: WriteOutcome | undefined;
    let throttleWrite: WriteOutcome | undefined;
    let regulated = false;
    const would: string[] = [];
    for (let plans = 0; plans < MOST_PLANS; plans++) {
      const inForce = { raplCap, throttlePct: this.#throttle.dvfs.throttlePct };
      const plan = planCpu({
        mode,
        cap,
        packages: this.packages,
        raplAvailable,
        dvfsAvailable,
        powerKnown: power.total !== undefined,
        inForce,
        raplWrite,
        throttleWrite,
      });
      const actions = plan.actions.filter(({ kind }) => !(regulated && kind === "regulate"));
      if (actions.length === 0) {
        if (simulate)
          this.simulated = would.length === 0 ? "nothing would be changed" : `would ${would.join(", then ")}`;
        return plan;
      }
      for (const action of actions) {
        if (action.kind === "regulate") regulated = true;
        if (simulate) {
          would.push(described(action));
          if (action.kind.endsWith("Cap")) raplWrite = { result: "applied" };
          else throttleWrite = { result: "applied" };
          continue;
        }
        const acted = await this.#act(action, signal);
        raplWrite = acted.raplWrite ?? raplWrite;
        throttleWrite = acted.throttleWrite ?? throttleWrite;
        if ("raplCap" in acted) raplCap = acted.raplCap;
      }
    }
    return { backend: "none", actions: [] };
  }

  nameOf(backend: CpuBackend): string {
    if (backend === "rapl") return this.seats[0]?.backend.name ?? backend;
    return backend === "dvfs" ? (this.#tick.throttle?.name ?? backend) : backend;
  }

  /** Why a way that the plan could not take is closed, in the words of whoever would know. */
  neededButAbsent(
    plan: CpuPlan,
    absent: readonly string[],
    seats: readonly Seat[],
    noThrottle: string | undefined,
  ): string {
    const { report } = plan;
    if (report === undefined || report.result === "none") return "";
    const shut = seats.flatMap(({ board }) => {
      const why = board.locked ?? board.lost;
      return why === undefined ? [] : [`${board.id}: ${why}`];
    });
    const missing = report.message.includes("RAPL is not available") ? [...absent, ...shut] : [];
    const still = report.message.includes("cpufreq is not available") ? [noThrottle] : [];
    const unread = report.message.includes("no power reading") ? [this.#tick.power.missing] : [];
    return words(...missing, ...still, ...unread);
  }

  async #inForce(): Promise<Watts | undefined> {
    const held = await Promise.all(this.seats.map(async (seat) => this.#keeper.inForce(seat, this.#tick.signal)));
    return extreme(held, Math.min);
  }

  async #act(action: CpuAction, signal: AbortSignal): Promise<Acted> {
    const { throttle, power, onThrottle } = this.#tick;
    switch (action.kind) {
      case "setRaplCap":
        return this.#set(action.wattsPerPackage, signal);
      case "checkRaplCap":
        return this.#check(action.wattsPerPackage, signal);
      case "liftRaplCap": {
        const raplWrite = together(await Promise.all(this.seats.map(async (seat) => this.#keeper.lift(seat, signal))));
        return raplWrite.result === "applied" ? { raplWrite, raplCap: undefined } : { raplWrite };
      }
      case "regulate": {
        if (throttle === undefined) return {};
        const throttleWrite = await this.#throttle.regulate(throttle, power.total, action.target, onThrottle, signal);
        return { throttleWrite };
      }
      case "setThrottle":
        return throttle === undefined
          ? {}
          : { throttleWrite: await this.#throttle.set(throttle, action.throttlePct, signal) };
      case "restoreThrottle":
        return throttle === undefined ? {} : { throttleWrite: await this.#throttle.restore(throttle, signal) };
    }
  }

  async #set(cap: Watts, signal: AbortSignal): Promise<Acted> {
    const watched = (seat: Seat): Watts =>
      seat.backend.name === "http" ? (pooledTarget(cap, this.packages) ?? cap) : cap;
    const outcomes = await Promise.all(
      this.seats.map(async (seat) => this.#keeper.set(seat, cap, watched(seat), signal)),
    );
    const any = outcomes.some(({ result }) => result === "applied");
    return { raplWrite: together(outcomes), ...(any && { raplCap: cap }) };
  }

  async #check(cap: Watts, signal: AbortSignal): Promise<Acted> {
    const checks = await Promise.all(this.seats.map(async (seat) => this.#keeper.check(seat, cap, signal)));
    const contested = checks.find((check) => check.kind === "contested");
    if (contested?.kind === "contested") {
      this.contested = contested.message;
      return { raplWrite: { result: "blocked", message: contested.message } };
    }
    const undone = checks.flatMap((check) => (check.kind === "undone" ? [check] : []));
    this.undone.push(...undone.map(({ message }) => message));
    if (undone.length > 0)
      return {
        raplCap: extreme(
          undone.map(({ found }) => found),
          Math.min,
        ),
      };
    const messages = words(...checks.map((check) => (check.kind === "holds" ? check.message : undefined)));
    return { raplWrite: { result: "applied", ...(messages !== "" && { message: messages }) } };
  }
}

interface Acted {
  readonly raplWrite?: WriteOutcome | undefined;
  readonly throttleWrite?: WriteOutcome | undefined;
  readonly raplCap?: Watts | undefined;
}

const powerOf = ({ backend, board }: Seat, { total, boards }: Reading): Watts | undefined =>
  backend.name === "http" ? total : boards.get(board.id);

/** Of what is there; undefined where nothing is. */
function extreme(values: readonly (Watts | undefined)[], pick: (...values: number[]) => number): Watts | undefined {
  const there = values.filter((value): value is Watts => value !== undefined && !Number.isNaN(value));
  return there.length === 0 ? undefined : watts(pick(...there));
}

function described(action: CpuAction): string {
  switch (action.kind) {
    case "setRaplCap":
    case "checkRaplCap":
      return `set ${action.wattsPerPackage} W per package`;
    case "liftRaplCap":
      return "lift the cap";
    case "regulate":
      return `throttle towards ${action.target} W`;
    case "setThrottle":
      return `throttle by ${action.throttlePct} %`;
    case "restoreThrottle":
      return "restore the throttle";
  }
}
