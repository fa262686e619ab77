import type { ControlResult } from "../../../core/api/index.ts";
import {
  type CpuBackend,
  type CpuPackage,
  type CpuPlan,
  capPerPackage,
  type DvfsSettings,
  dvfsBand,
  type PackageCaps,
  resolvePackageCaps,
  totalCap,
  withLowestCap,
} from "../../../core/control/index.ts";
import {
  elapsed,
  type MonotonicInstant,
  milliseconds,
  type Percent,
  type Watts,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Journal, JournalKey } from "../../../platform/journal/index.ts";
import { handlesOf, selectBackend } from "../host/host.ts";
import type { PowerReading } from "../telemetry/node-power.ts";
import { type BoardHandle, CapEnforcer } from "./cap-enforcer.ts";
import { CpuPlanExecutor, type CpuTick, extreme } from "./cpu-plan-executor.ts";
import { type DeviceReport, joinMessages } from "./device-report.ts";
import type { BoardOwner } from "./original-limits.ts";
import { type ThrottleConflict, ThrottleEnforcer } from "./throttle-enforcer.ts";

export interface CpuReport extends DeviceReport {
  readonly mode: CpuBackend;
  /** What is asked of one package, in watts, where that is known; the mean where packages differ. */
  readonly cap?: Watts | undefined;
  readonly throttlePct: Percent;
}

const LOOK_AGAIN = milliseconds(60_000);
/** Full throttle that leaves power above the band for so many ticks is all that can be done, and not enough. */
const TICKS_TO_FAIL = 3;

/** The CPUs of one node. */
export class CpuDevice {
  readonly #enforcer: CapEnforcer;
  readonly #throttle: ThrottleEnforcer;
  readonly #settings: DvfsSettings;
  readonly #clock: Clock;
  /** RAPL did its work in the last tick, and nothing was throttled. */
  #idle = false;
  #seenThrottle:
    | { readonly of: unknown; readonly absent: string | undefined; readonly at: MonotonicInstant }
    | undefined;

  constructor(owner: BoardOwner, journal: Journal, clock: Clock, settings: DvfsSettings) {
    this.#enforcer = new CapEnforcer(owner, journal, clock);
    this.#throttle = new ThrottleEnforcer(owner, journal, clock, settings);
    this.#settings = settings;
    this.#clock = clock;
  }

  get dvfs() {
    return this.#throttle.dvfs;
  }

  /** What a board should read as long as nobody else sets it; undefined where that is not known. */
  expectedLimit(key: JournalKey): Watts | undefined {
    return this.#enforcer.expectedLimit(key);
  }

  async tick(tick: CpuTick): Promise<CpuReport> {
    const { signal, power } = tick;
    this.#enforcer.unsavedReason = undefined;
    this.#throttle.syncState(tick.throttle, tick.reportedThrottle);
    const found = await selectBackend(tick.caps, signal);
    const handles = handlesOf(found);
    const usable = handles.some(({ board }) => board.locked === undefined && board.lost === undefined);
    const noThrottle = await this.#noThrottle(tick);
    for (const handle of handles) this.#enforcer.observe(handle, powerOf(handle, power), power.since);
    const run = new CpuPlanExecutor(tick, handles, this.#enforcer, this.#throttle);
    const cap = resolvePackageCaps(tick.intent, await this.#packages(handles, tick));
    const plan = await run.execute(cap, usable, noThrottle === undefined);
    const reasons = whyNot(plan, tick, { shut: usable ? [] : [...found.absent, ...shutOf(handles)], noThrottle });
    const report = this.#judge(plan, run, cap, reasons);
    this.#idle = report.mode === "rapl" && report.throttlePct === 0;
    if (
      !tick.simulate &&
      plan.backend !== "dvfs" &&
      tick.throttle !== undefined &&
      this.#throttle.isIdle(tick.throttle)
    )
      await this.#throttle.restore(tick.throttle, signal);
    return report;
  }

  /** Why there is nothing to throttle. Hundreds of policies are not looked at each tick while nobody needs them. */
  async #noThrottle({ throttle, signal }: CpuTick): Promise<string | undefined> {
    if (throttle === undefined) return "no throttle";
    const now = this.#clock.monotonic();
    const seen = this.#seenThrottle;
    if (this.#idle && seen?.of === throttle && elapsed(seen.at, now) < LOOK_AGAIN) return seen.absent;
    const { absent } = await throttle.discover(signal);
    this.#seenThrottle = { of: throttle, absent, at: now };
    return absent;
  }

  /**
   * The packages to cap, each with its own range and its own limit before us; a maximum that the machine does not tell is the
   * catalogue's. One that is lost takes no part.
   */
  async #packages(handles: readonly BoardHandle[], { view, power, signal }: CpuTick): Promise<readonly CpuPackage[]> {
    const {
      maxWattsPerSocket,
      minWattsPerSocket,
      from,
      plausibleWattsPerSocket: plausible = Infinity,
      sockets,
    } = view.cpu;
    const known = from.maxWatts === "fallback" ? undefined : maxWattsPerSocket;
    const answering = handles.filter(({ board }) => board.lost === undefined);
    // The packages whose power is in the sum that the DVFS loop regulates, as soon as that is known: one may go offline.
    const counted = power.boards.size > 0 ? power.boards.size : sockets;
    if (answering.length === 0)
      return [{ id: "packages", device: withLowestCap({ max: known }, minWattsPerSocket), count: counted }];
    const devices = await Promise.all(answering.map(async (handle) => this.#enforcer.device(handle, signal)));
    const others = extreme(
      devices.map(({ max }) => max),
      Math.min,
    );
    return answering.map(({ backend, board }, index) => {
      const told = devices[index]?.max ?? others;
      // A power file may hold a mere ceiling of the firmware, which the catalogue knows better.
      const max = told === undefined ? known : watts(Math.min(told, plausible));
      const device = withLowestCap({ ...devices[index], max });
      return { id: board.id, device, count: backend.name === "http" ? sockets : 1 };
    });
  }

  #judge(plan: CpuPlan, run: CpuPlanExecutor, cap: PackageCaps, reasons: string): CpuReport {
    const { result = "error", message = "planned again and again and came to no end" } = plan.report ?? {};
    const base = {
      mode: plan.backend,
      backend: run.nameOf(plan.backend),
      cap: cap.kind === "watts" ? capPerPackage(cap.caps) : undefined,
      throttlePct: this.#throttle.dvfs.throttlePct,
    };
    if (run.simulated !== undefined)
      return { ...base, result: "none", message: joinMessages(`simulate only: ${run.simulated}`, message, reasons) };
    const tell = (over: Pick<DeviceReport, "result" | "alarm" | "unproven">, ...more: (string | undefined)[]) => ({
      ...base,
      ...over,
      message: joinMessages(message, ...more, reasons),
    });
    const { conflict } = this.#throttle;
    const fought = conflict && judgeConflict(conflict, result);
    // A write that was left undone for a rival's sake has said so.
    const rival = conflict && !message.includes(conflict.message) ? conflict.message : undefined;
    if (run.contested !== undefined) {
      // A throttle may stand in for it, and is judged as one.
      const judged =
        fought ?? (plan.backend === "dvfs" && result === "applied" ? this.#judgeThrottle(cap) : { result });
      const alarm = { reason: "CapContested", note: run.contested } as const;
      // A write that was left undone for this reason has said so.
      const contest = message.includes(run.contested) ? undefined : run.contested;
      return tell({ ...judged, alarm }, contest, rival);
    }
    if (fought !== undefined) return tell(fought, rival);
    if (result !== "applied" || cap.kind === "uncapped") return tell({ result });
    // A throttle could not be kept either: that none was needed so far makes no success of it.
    if (this.#enforcer.unsavedReason !== undefined) return tell({ result: "blocked" }, this.#enforcer.unsavedReason);
    if (plan.backend === "dvfs") {
      const judged = this.#judgeThrottle(cap);
      return tell(judged, judged.alarm?.note);
    }
    const undone = joinMessages(...run.undone);
    if (undone !== "") return tell({ result: "error", unproven: true }, undone);
    const verdicts = run.handles.map((handle) => ({ handle, verdict: this.#enforcer.verdict(handle) }));
    const broken = verdicts.filter(({ verdict }) => verdict === "not effective").map(({ handle }) => handle.board.id);
    if (broken.length > 0) {
      const note = `not effective: ${broken.join(", ")} stays above the cap although it reads back; firmware, or another limit, decides`;
      return tell({ result: "error", unproven: true, alarm: { reason: "CapNotEffective", note } }, note);
    }
    const untested = verdicts.some(({ verdict }) => verdict === undefined || verdict === "not yet tested by load");
    return tell({ result, unproven: untested }, untested ? "not yet tested by load" : undefined);
  }

  #judgeThrottle(cap: PackageCaps): Pick<DeviceReport, "result" | "alarm" | "unproven"> {
    const { ema, above, throttlePct } = this.#throttle.dvfs;
    const target = cap.kind === "watts" ? totalCap(cap.caps) : undefined;
    if (target === undefined || ema === undefined) return { result: "applied", unproven: true };
    const over = ema > dvfsBand(target, this.#settings).upper;
    if (!over || throttlePct < 100 || above < TICKS_TO_FAIL)
      return { result: "applied", unproven: ema <= target && throttlePct === 0 };
    const note = `not effective: fully throttled, and still above ${target} W`;
    return { result: "error", unproven: true, alarm: { reason: "CapNotEffective", note } };
  }
}

/** That it was set again, or that the rest of it was let go of, is no success. */
const judgeConflict = (
  { kind, message }: ThrottleConflict,
  result: ControlResult,
): Pick<DeviceReport, "result" | "alarm" | "unproven"> =>
  kind === "contested"
    ? {
        result: result === "error" ? result : "blocked",
        unproven: true,
        alarm: { reason: "CapContested", note: message },
      }
    : { result: "error", unproven: true };

const powerOf = ({ backend, board }: BoardHandle, { total, boards }: PowerReading): Watts | undefined =>
  backend.name === "http" ? total : boards.get(board.id);

/** Why boards that are there cannot be capped. */
const shutOf = (handles: readonly BoardHandle[]): readonly string[] =>
  handles.flatMap(({ board: { id, locked, lost } }) => {
    const why = locked ?? lost;
    return why === undefined ? [] : [`${id}: ${why}`];
  });

/** Why a way that the plan would have taken is closed, in the words of whoever knows. */
function whyNot(
  { backend, report }: CpuPlan,
  { mode, power }: CpuTick,
  { shut, noThrottle }: { readonly shut: readonly string[]; readonly noThrottle: string | undefined },
): string {
  if (report === undefined || report.result === "none" || mode === "none") return "";
  return joinMessages(
    ...(mode === "dvfs" || backend === "rapl" ? [] : shut),
    backend === "none" && mode !== "rapl" ? noThrottle : undefined,
    backend === "dvfs" && power.total === undefined ? power.missing : undefined,
  );
}
