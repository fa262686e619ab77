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
import type { DevicePowerReading } from "../telemetry/node-power.ts";
import { type BoardHandle, CapEnforcer } from "./cap-enforcer.ts";
import { CpuPlanExecutor, type CpuTick, lowestOf } from "./cpu-plan-executor.ts";
import { type DeviceReport, joinMessages } from "./device-report.ts";
import type { BoardOwner } from "./original-limits.ts";
import { type ThrottleConflict, ThrottleEnforcer } from "./throttle-enforcer.ts";

export interface CpuReport extends DeviceReport {
  readonly mode: CpuBackend;
  /** The requested cap per package in watts, if known; the mean if packages differ. */
  readonly cap?: Watts | undefined;
  readonly throttlePct: Percent;
}

const RECHECK_INTERVAL = milliseconds(60_000);
/** After this many ticks above the band at full throttle the cap counts as not effective. */
const TICKS_TO_FAIL = 3;

export class CpuDevice {
  readonly #enforcer: CapEnforcer;
  readonly #throttle: ThrottleEnforcer;
  readonly #settings: DvfsSettings;
  readonly #clock: Clock;
  /** In the last tick RAPL enforced the cap, and nothing was throttled. */
  #throttleUnused = false;
  #lastThrottleCheck:
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
    const reasons = whyNot(plan, tick, {
      locked: usable ? [] : [...found.absent, ...lockedReasons(handles)],
      noThrottle,
    });
    const report = this.#judge(plan, run, cap, reasons);
    this.#throttleUnused = report.mode === "rapl" && report.throttlePct === 0;
    if (
      !tick.simulate &&
      plan.backend !== "dvfs" &&
      tick.throttle !== undefined &&
      this.#throttle.isIdle(tick.throttle)
    )
      await this.#throttle.restore(tick.throttle, signal);
    return report;
  }

  /** Why throttling is unavailable. While it is unused, the result is cached: there may be hundreds of policies. */
  async #noThrottle({ throttle, signal }: CpuTick): Promise<string | undefined> {
    if (throttle === undefined) return "no throttle";
    const now = this.#clock.monotonic();
    const last = this.#lastThrottleCheck;
    if (this.#throttleUnused && last?.of === throttle && elapsed(last.at, now) < RECHECK_INTERVAL) return last.absent;
    const { absent } = await throttle.discover(signal);
    this.#lastThrottleCheck = { of: throttle, absent, at: now };
    return absent;
  }

  /** The packages to cap, without lost ones. Unknown maxima come from the catalogue. */
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
    // The number of packages in the power sum that the DVFS controller regulates: a package may go offline.
    const counted = power.boards.size > 0 ? power.boards.size : sockets;
    if (answering.length === 0)
      return [{ id: "packages", device: withLowestCap({ min: minWattsPerSocket, max: known }), count: counted }];
    const devices = await Promise.all(answering.map(async (handle) => this.#enforcer.device(handle, signal)));
    const others = lowestOf(devices.map(({ max }) => max));
    return answering.map(({ backend, board }, index) => {
      const reported = devices[index]?.max ?? others;
      // The firmware may report an unrealistic ceiling; the catalogue limits it.
      const max = reported === undefined ? known : watts(Math.min(reported, plausible));
      const device = withLowestCap({ ...devices[index], max });
      return { id: board.id, device, count: backend.name === "http" ? sockets : 1 };
    });
  }

  #judge(plan: CpuPlan, run: CpuPlanExecutor, cap: PackageCaps, reasons: string): CpuReport {
    const { result = "error", message = "planning did not converge" } = plan.report ?? {};
    const base = {
      mode: plan.backend,
      backend: run.nameOf(plan.backend),
      cap: cap.kind === "watts" ? capPerPackage(cap.caps) : undefined,
      throttlePct: this.#throttle.dvfs.throttlePct,
    };
    if (run.simulated !== undefined)
      return { ...base, result: "none", message: joinMessages(`simulate only: ${run.simulated}`, message, reasons) };
    const reportOf = (over: Pick<DeviceReport, "result" | "alarm" | "unproven">, ...more: (string | undefined)[]) => ({
      ...base,
      ...over,
      message: joinMessages(message, ...more, reasons),
    });
    const { conflict } = this.#throttle;
    const throttleConflict = conflict && judgeConflict(conflict, result);
    // If a write was skipped because of the conflict, the message already contains it.
    const conflictMessage = conflict && !message.includes(conflict.message) ? conflict.message : undefined;
    if (run.contested !== undefined) {
      // A throttle may enforce the cap instead, and is judged as such.
      const judged =
        throttleConflict ?? (plan.backend === "dvfs" && result === "applied" ? this.#judgeThrottle(cap) : { result });
      const alarm = { reason: "CapContested", note: run.contested } as const;
      // If a write was skipped for this reason, the message already contains it.
      const contestedMessage = message.includes(run.contested) ? undefined : run.contested;
      return reportOf({ ...judged, alarm }, contestedMessage, conflictMessage);
    }
    if (throttleConflict !== undefined) return reportOf(throttleConflict, conflictMessage);
    if (result !== "applied" || cap.kind === "uncapped") return reportOf({ result });
    // Without a writable journal a throttle would be impossible too, so this is no success even if none was needed yet.
    if (this.#enforcer.unsavedReason !== undefined)
      return reportOf({ result: "blocked" }, this.#enforcer.unsavedReason);
    if (plan.backend === "dvfs") {
      const judged = this.#judgeThrottle(cap);
      return reportOf(judged, judged.alarm?.note);
    }
    const undone = joinMessages(...run.undone);
    if (undone !== "") return reportOf({ result: "error", unproven: true }, undone);
    const verdicts = run.handles.map((handle) => ({ handle, verdict: this.#enforcer.verdict(handle) }));
    const broken = verdicts.filter(({ verdict }) => verdict === "not effective").map(({ handle }) => handle.board.id);
    if (broken.length > 0) {
      const note = `not effective: ${broken.join(", ")} stays above the cap although the cap reads back; firmware or another limit takes precedence`;
      return reportOf({ result: "error", unproven: true, alarm: { reason: "CapNotEffective", note } }, note);
    }
    const untested = verdicts.some(({ verdict }) => verdict === undefined || verdict === "not yet tested by load");
    return reportOf({ result, unproven: untested }, untested ? "not yet tested by load" : undefined);
  }

  #judgeThrottle(cap: PackageCaps): Pick<DeviceReport, "result" | "alarm" | "unproven"> {
    const { ema, above, throttlePct } = this.#throttle.dvfs;
    const target = cap.kind === "watts" ? totalCap(cap.caps) : undefined;
    if (target === undefined || ema === undefined) return { result: "applied", unproven: true };
    const over = ema > dvfsBand(target, this.#settings).upper;
    if (!over || throttlePct < 100 || above < TICKS_TO_FAIL)
      return { result: "applied", unproven: ema <= target && throttlePct === 0 };
    const note = `not effective: fully throttled and still above ${target} W`;
    return { result: "error", unproven: true, alarm: { reason: "CapNotEffective", note } };
  }
}

/** A throttle that another program undid is no success, whether it was written again or eased. */
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

const powerOf = ({ backend, board }: BoardHandle, { total, boards }: DevicePowerReading): Watts | undefined =>
  backend.name === "http" ? total : boards.get(board.id);

const lockedReasons = (handles: readonly BoardHandle[]): readonly string[] =>
  handles.flatMap(({ board: { id, locked, lost } }) => {
    const why = locked ?? lost;
    return why === undefined ? [] : [`${id}: ${why}`];
  });

function whyNot(
  { backend, report }: CpuPlan,
  { mode, power }: CpuTick,
  { locked, noThrottle }: { readonly locked: readonly string[]; readonly noThrottle: string | undefined },
): string {
  if (report === undefined || report.result === "none" || mode === "none") return "";
  return joinMessages(
    ...(mode === "dvfs" || backend === "rapl" ? [] : locked),
    backend === "none" && mode !== "rapl" ? noThrottle : undefined,
    backend === "dvfs" && power.total === undefined ? power.missing : undefined,
  );
}
