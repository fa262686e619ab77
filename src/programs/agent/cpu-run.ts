import {
  type CapIntent,
  type CapResolution,
  type ControlMode,
  type CpuAction,
  type CpuBackend,
  type CpuPlan,
  planCpu,
  pooledTarget,
  type WriteOutcome,
} from "../../core/control/index.ts";
import type { HardwareView } from "../../core/inventory/index.ts";
import { type Watts, watts } from "../../core/units/index.ts";
import type { PowerCapBackend, ThrottleBackend } from "../../platform/hardware/index.ts";
import type { CapKeeper, MissingBoard, Seat } from "./cap-keeper.ts";
import { together, words } from "./outcomes.ts";
import type { Reading } from "./power.ts";
import type { ThrottleKeeper } from "./throttle-keeper.ts";

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

/** A plan is made again after each write that matters; more often than this it goes round in circles. */
const MOST_PLANS = 8;

/** One tick's plans and what became of them. */
export class CpuRun {
  readonly seats: readonly Seat[];
  readonly packages: number;
  readonly undone: string[] = [];
  contested: string | undefined;
  /** What would have been done. */
  simulated: string | undefined;
  readonly #tick: CpuTick;
  readonly #keeper: CapKeeper;
  readonly #throttle: ThrottleKeeper;
  readonly #missing: readonly MissingBoard[];

  constructor(tick: CpuTick, seats: readonly Seat[], packages: number, keeper: CapKeeper, throttle: ThrottleKeeper) {
    this.#tick = tick;
    this.seats = seats;
    this.packages = packages;
    this.#keeper = keeper;
    this.#throttle = throttle;
    this.#missing = keeper.missing(tick.caps, seats);
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

  async #inForce(): Promise<Watts | undefined> {
    const held = await Promise.all(this.seats.map(async (seat) => this.#keeper.inForce(seat, this.#tick.signal)));
    const unseen = this.#missing.map(({ ours }) => ours);
    return extreme(held, Math.min) ?? extreme(unseen, Math.min);
  }

  async #act(action: CpuAction, signal: AbortSignal): Promise<Acted> {
    if (action.kind === "setRaplCap") return this.#set(action.wattsPerPackage, signal);
    if (action.kind === "checkRaplCap") return this.#check(action.wattsPerPackage, signal);
    if (action.kind === "liftRaplCap") return this.#lift(signal);
    const { throttle, power, onThrottle } = this.#tick;
    if (throttle === undefined) return {};
    if (action.kind === "setThrottle")
      return { throttleWrite: await this.#throttle.set(throttle, action.throttlePct, signal) };
    if (action.kind === "checkThrottle") return { throttleWrite: await this.#throttle.check(throttle, signal) };
    if (action.kind === "restoreThrottle") return { throttleWrite: await this.#throttle.restore(throttle, signal) };
    return { throttleWrite: await this.#throttle.regulate(throttle, power.total, action.target, onThrottle, signal) };
  }

  async #lift(signal: AbortSignal): Promise<Acted> {
    const lifted = await Promise.all(this.seats.map(async (seat) => this.#keeper.lift(seat, signal)));
    const stuck = this.#missing.map(({ id, ours }): WriteOutcome => {
      const message = `our cap of ${ours} W on ${id} cannot be lifted: it is not there any more`;
      return { result: "blocked", message };
    });
    const raplWrite = together([...lifted, ...stuck]);
    return raplWrite.result === "applied" ? { raplWrite, raplCap: undefined } : { raplWrite };
  }

  async #set(cap: Watts, signal: AbortSignal): Promise<Acted> {
    const outcomes = await Promise.all(
      this.seats.map(async (seat) => this.#keeper.set(seat, cap, this.#watched(seat, cap), signal)),
    );
    const any = outcomes.some(({ result }) => result === "applied");
    return { raplWrite: together(outcomes), ...(any && { raplCap: cap }) };
  }

  /** The power that has to stay below the cap: the one board of a service stands for all packages. */
  #watched({ backend }: Seat, cap: Watts): Watts {
    return backend.name === "http" ? (pooledTarget(cap, this.packages) ?? cap) : cap;
  }

  async #check(cap: Watts, signal: AbortSignal): Promise<Acted> {
    const checks = await Promise.all(
      this.seats.map(async (seat) => this.#keeper.check(seat, cap, this.#watched(seat, cap), signal)),
    );
    const contested = checks.find((check) => check.kind === "contested");
    if (contested?.kind === "contested") {
      this.contested = contested.message;
      return { raplWrite: { result: "blocked", message: contested.message } };
    }
    const unreadable = checks.flatMap((check) => (check.kind === "unreadable" ? [check.message] : []));
    if (unreadable.length > 0) return { raplWrite: { result: "error", message: words(...unreadable) } };
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

/** Of what is there; undefined where nothing is. */
export function extreme(
  values: readonly (Watts | undefined)[],
  pick: (...values: number[]) => number,
): Watts | undefined {
  const there = values.filter((value): value is Watts => value !== undefined && !Number.isNaN(value));
  return there.length === 0 ? undefined : watts(pick(...there));
}

const described = (action: CpuAction): string => told[action.kind](action as never);

const told: { readonly [Kind in CpuAction["kind"]]: (action: Extract<CpuAction, { kind: Kind }>) => string } = {
  setRaplCap: ({ wattsPerPackage }) => `set ${wattsPerPackage} W per package`,
  checkRaplCap: ({ wattsPerPackage }) => `set ${wattsPerPackage} W per package`,
  liftRaplCap: () => "lift the cap",
  regulate: ({ target }) => `throttle towards ${target} W`,
  setThrottle: ({ throttlePct }) => `throttle by ${throttlePct} %`,
  checkThrottle: ({ throttlePct }) => `throttle by ${throttlePct} %`,
  restoreThrottle: () => "restore the throttle",
};
