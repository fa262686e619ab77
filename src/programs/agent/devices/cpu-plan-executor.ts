import {
  type CapIntent,
  type ControlMode,
  type CpuAction,
  type CpuBackend,
  type CpuPlan,
  describeCaps,
  type PackageCap,
  type PackageCaps,
  planCpu,
  type WriteOutcome,
} from "../../../core/control/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import { type Watts, watts } from "../../../core/units/index.ts";
import type { PowerCapBackend, ThrottleBackend } from "../../../platform/hardware/index.ts";
import type { DevicePowerReading } from "../telemetry/node-power.ts";
import type { BoardHandle, CapCheck, CapEnforcer, MissingBoard } from "./cap-enforcer.ts";
import { combinedOutcome, joinMessages } from "./device-report.ts";
import type { ThrottleEnforcer, WriteGuards } from "./throttle-enforcer.ts";

export interface CpuTick extends WriteGuards {
  readonly mode: ControlMode;
  readonly caps: readonly PowerCapBackend[];
  readonly throttle: ThrottleBackend | undefined;
  readonly intent: CapIntent;
  readonly view: HardwareView;
  readonly power: DevicePowerReading;
  readonly reportedThrottle: number | undefined;
  readonly simulate: boolean;
  readonly onThrottle: (kind: "throttle_up" | "throttle_down") => void;
}

/** The executor plans again after each write. More plans than this mean that planning does not converge. */
const MAX_PLANS = 8;

export class CpuPlanExecutor {
  readonly handles: readonly BoardHandle[];
  readonly undone: string[] = [];
  contested: string | undefined;
  simulated: string | undefined;
  readonly #tick: CpuTick;
  readonly #enforcer: CapEnforcer;
  readonly #throttle: ThrottleEnforcer;
  readonly #missing: readonly MissingBoard[];

  constructor(tick: CpuTick, handles: readonly BoardHandle[], enforcer: CapEnforcer, throttle: ThrottleEnforcer) {
    this.#tick = tick;
    this.handles = handles;
    this.#enforcer = enforcer;
    this.#throttle = throttle;
    this.#missing = enforcer.missing(tick.caps, handles);
  }

  /** Plans, acts, and plans again with the outcome, until no action is left. */
  async execute(cap: PackageCaps, raplAvailable: boolean, dvfsAvailable: boolean): Promise<CpuPlan> {
    const { mode, power, simulate, signal } = this.#tick;
    let raplCaps = await this.#inForce();
    let raplWrite: WriteOutcome | undefined;
    let throttleWrite: WriteOutcome | undefined;
    let regulated = false;
    const would: string[] = [];
    for (let plans = 0; plans < MAX_PLANS; plans++) {
      const inForce = { raplCaps, throttlePct: this.#throttle.dvfs.throttlePct };
      const plan = planCpu({
        mode,
        cap,
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
        const acted = await this.#act(action, raplCaps, signal);
        raplWrite = acted.raplWrite ?? raplWrite;
        throttleWrite = acted.throttleWrite ?? throttleWrite;
        raplCaps = acted.raplCaps ?? raplCaps;
      }
    }
    return { backend: "none", actions: [] };
  }

  nameOf(backend: CpuBackend): string {
    if (backend === "rapl") return this.handles[0]?.backend.name ?? backend;
    return backend === "dvfs" ? (this.#tick.throttle?.name ?? backend) : backend;
  }

  async #inForce(): Promise<ReadonlyMap<string, Watts>> {
    const inForce = new Map<string, Watts>();
    for (const handle of this.handles) {
      const cap = await this.#enforcer.inForce(handle, this.#tick.signal);
      if (cap !== undefined) inForce.set(handle.board.id, cap);
    }
    return inForce.size > 0 ? inForce : new Map(this.#missing.map(({ id, cap }) => [id, cap]));
  }

  async #act(action: CpuAction, inForce: ReadonlyMap<string, Watts>, signal: AbortSignal): Promise<Acted> {
    if (action.kind === "setRaplCap") return this.#set(action.caps, inForce, signal);
    if (action.kind === "checkRaplCap") return this.#check(action.caps, inForce, signal);
    if (action.kind === "liftRaplCap") return this.#lift(signal);
    const { throttle, power, onThrottle } = this.#tick;
    if (throttle === undefined) return {};
    if (action.kind === "setThrottle")
      return { throttleWrite: await this.#throttle.set(throttle, action.throttlePct, this.#tick) };
    if (action.kind === "checkThrottle") return { throttleWrite: await this.#throttle.check(throttle, this.#tick) };
    if (action.kind === "restoreThrottle") return { throttleWrite: await this.#throttle.restore(throttle, signal) };
    return {
      throttleWrite: await this.#throttle.regulate(throttle, power.total, action.target, onThrottle, this.#tick),
    };
  }

  async #lift(signal: AbortSignal): Promise<Acted> {
    const lifted = await Promise.all(this.handles.map(async (handle) => this.#enforcer.lift(handle, signal)));
    const stuck = this.#missing.map(({ id, cap }): WriteOutcome => {
      const message = `the agent's cap of ${cap} W on ${id} cannot be lifted: the board is gone`;
      return { result: "blocked", message };
    });
    const raplWrite = combinedOutcome([...lifted, ...stuck]);
    return raplWrite.result === "applied" ? { raplWrite, raplCaps: new Map() } : { raplWrite };
  }

  async #set(caps: readonly PackageCap[], inForce: ReadonlyMap<string, Watts>, signal: AbortSignal): Promise<Acted> {
    const raplCaps = new Map(inForce);
    const outcomes = await Promise.all(
      this.handles.map(async (handle) => {
        const cap = capOf(caps, handle);
        if (cap === undefined) return lost(handle);
        // Another package needs the write. On this one only check the cap, and count conflicts all the same.
        const check = inForce.get(cap.id) === cap.watts ? await this.#recheck(handle, cap, signal) : undefined;
        if (check !== undefined) return check;
        const outcome = await this.#enforcer.set(
          handle,
          { cap: cap.watts, watched: watchedPower(handle, cap), isCurrent: this.#tick.isCurrent },
          signal,
        );
        if (outcome.result === "applied") raplCaps.set(cap.id, cap.watts);
        return outcome;
      }),
    );
    return { raplWrite: combinedOutcome(outcomes), raplCaps };
  }

  /** Checks a cap that should be in force; undefined if it must be written again. */
  async #recheck(handle: BoardHandle, cap: PackageCap, signal: AbortSignal): Promise<WriteOutcome | undefined> {
    const check = await this.#enforcer.check(handle, cap.watts, watchedPower(handle, cap), signal);
    if (check.kind === "holds")
      return { result: "applied", ...(check.message !== undefined && { message: check.message }) };
    if (check.kind === "unreadable") return { result: "error", message: check.message };
    if (check.kind === "undone") {
      this.undone.push(check.message);
      return undefined;
    }
    this.contested = check.message;
    return { result: "blocked", message: check.message };
  }

  async #check(caps: readonly PackageCap[], inForce: ReadonlyMap<string, Watts>, signal: AbortSignal): Promise<Acted> {
    const checks = await Promise.all(
      this.handles.map(async (handle): Promise<CapCheck & { readonly id: string }> => {
        const { id } = handle.board;
        const cap = capOf(caps, handle);
        if (cap === undefined) return { id, kind: "unreadable", message: lost(handle).message };
        return { id, ...(await this.#enforcer.check(handle, cap.watts, watchedPower(handle, cap), signal)) };
      }),
    );
    const contested = checks.find((check) => check.kind === "contested");
    if (contested?.kind === "contested") {
      this.contested = contested.message;
      return { raplWrite: { result: "blocked", message: contested.message } };
    }
    const unreadable = checks.flatMap((check) => (check.kind === "unreadable" ? [check.message] : []));
    if (unreadable.length > 0) return { raplWrite: { result: "error", message: joinMessages(...unreadable) } };
    const undone = checks.flatMap((check) => (check.kind === "undone" ? [check] : []));
    this.undone.push(...undone.map(({ message }) => message));
    if (undone.length > 0)
      return { raplCaps: new Map([...inForce, ...undone.map(({ id, found }) => [id, found] as const)]) };
    const messages = joinMessages(...checks.map((check) => (check.kind === "holds" ? check.message : undefined)));
    return { raplWrite: { result: "applied", ...(messages !== "" && { message: messages }) } };
  }
}

interface Acted {
  readonly raplWrite?: WriteOutcome;
  readonly throttleWrite?: WriteOutcome;
  readonly raplCaps?: ReadonlyMap<string, Watts>;
}

const capOf = (caps: readonly PackageCap[], { board }: BoardHandle): PackageCap | undefined =>
  caps.find(({ id }) => id === board.id);

const lost = ({ board }: BoardHandle) => ({ result: "error", message: `${board.id}: ${board.lost}` }) as const;

/** The power that must stay below the cap: the one board of an HTTP service stands for all packages. */
const watchedPower = ({ backend }: BoardHandle, cap: PackageCap): Watts =>
  backend.name === "http" && cap.count > 0 ? watts(cap.watts * cap.count) : cap.watts;

export function lowestOf(values: readonly (Watts | undefined)[]): Watts | undefined {
  const known = values.filter((value): value is Watts => value !== undefined && !Number.isNaN(value));
  return known.length === 0 ? undefined : watts(Math.min(...known));
}

const described = (action: CpuAction): string => actionTexts[action.kind](action as never);

const actionTexts: { readonly [Kind in CpuAction["kind"]]: (action: Extract<CpuAction, { kind: Kind }>) => string } = {
  setRaplCap: ({ caps }) => `set ${describeCaps(caps)}`,
  checkRaplCap: ({ caps }) => `set ${describeCaps(caps)}`,
  liftRaplCap: () => "lift the cap",
  regulate: ({ target }) => `throttle towards ${target} W`,
  setThrottle: ({ throttlePct }) => `throttle by ${throttlePct} %`,
  checkThrottle: ({ throttlePct }) => `throttle by ${throttlePct} %`,
  restoreThrottle: () => "restore the throttle",
};
