import {
  type CapIntent,
  type GpuAction,
  type GpuBoard,
  type GpuPlanInput,
  gpuReport,
  planGpu,
  type WriteOutcome,
} from "../../../core/control/index.ts";
import { type Watts, watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { PowerCapBackend } from "../../../platform/hardware/index.ts";
import type { Journal } from "../../../platform/journal/index.ts";
import { type BackendSelection, handlesOf } from "../host/host.ts";
import type { DevicePowerReading } from "../telemetry/node-power.ts";
import { type BoardHandle, CapEnforcer, type MissingBoard } from "./cap-enforcer.ts";
import { type DeviceReport, joinMessages } from "./device-report.ts";
import type { BoardOwner } from "./original-limits.ts";
import type { WriteGuards } from "./throttle-enforcer.ts";

export interface GpuTick extends WriteGuards {
  readonly enabled: boolean;
  /** The backends of the route, and the one in use with its boards. */
  readonly backends: readonly PowerCapBackend[];
  readonly found: BackendSelection;
  readonly count: number;
  readonly intent: CapIntent;
  readonly power: DevicePowerReading;
  readonly simulate: boolean;
}

/** Check, find a raised limit, set it again: more plans mean that planning does not converge. */
const MAX_PLANS = 4;

interface BoardState {
  readonly handle: BoardHandle;
  board: GpuBoard;
  undone: string | undefined;
  contested: string | undefined;
}

export class GpuDevice {
  readonly #enforcer: CapEnforcer;

  constructor(owner: BoardOwner, journal: Journal, clock: Clock) {
    this.#enforcer = new CapEnforcer(owner, journal, clock);
  }

  /** Undefined if the node has no GPU and no GPU cap is requested. */
  async tick(tick: GpuTick): Promise<DeviceReport | undefined> {
    const { found, intent, enabled } = tick;
    const handles = handlesOf(found);
    const requested = intent.watts !== undefined || intent.pctOfMax !== undefined;
    const missing = this.#enforcer.missing(tick.backends, handles).map(missingBoard);
    if (handles.length === 0 && missing.length === 0 && !requested) return undefined;
    const noBackend = handles.length === 0 ? joinMessages(...found.absent) || "no backend can cap GPUs" : undefined;
    for (const handle of handles) this.#enforcer.observe(handle, this.#powerOf(handle, tick), tick.power.since);
    const runs = await Promise.all(handles.map(async (handle) => this.#begin(handle, tick)));
    const control = (): GpuPlanInput => ({
      enabled,
      noBackend,
      intent,
      boards: [...runs.map(({ board }) => board), ...missing],
    });
    const backend = found.backend?.name ?? "none";
    if (tick.simulate) return simulated(backend, control());
    await this.#carryOut(runs, control, tick);
    return this.#judge(backend, runs, control());
  }

  async #begin(handle: BoardHandle, { intent, signal }: GpuTick): Promise<BoardState> {
    const { id, lost, locked } = handle.board;
    const capped = intent.watts !== undefined || (intent.pctOfMax ?? 100) < 100;
    const reachable = lost === undefined;
    // The original limit is read only if a cap is requested: some boards answer slowly.
    const device = reachable && capped ? await this.#enforcer.device(handle, signal) : handle.board.device;
    const inForce = reachable ? await this.#enforcer.inForce(handle, signal) : journalledCap(this.#enforcer, handle);
    // A locked board with the agent's cap is lifted or checked as usual; one without is not touched.
    const skipped = locked !== undefined && inForce === undefined;
    const write: WriteOutcome | undefined = skipped ? { result: "blocked", message: locked } : undefined;
    return { handle, board: { id, device, inForce, lost, write }, undone: undefined, contested: undefined };
  }

  /** Handles each board separately, so that a lost or hanging board does not delay the others. */
  async #carryOut(runs: readonly BoardState[], control: () => GpuPlanInput, tick: GpuTick): Promise<void> {
    const byId = new Map(runs.map((run) => [run.board.id, run]));
    for (let plans = 0; plans < MAX_PLANS; plans++) {
      const actions = planGpu(control());
      if (actions.length === 0) return;
      await Promise.all(
        actions.map(async (action) => {
          const run = byId.get(action.id);
          if (run !== undefined) run.board = await this.#act(run, action, tick);
        }),
      );
    }
  }

  async #act(run: BoardState, action: GpuAction, { signal, count, isCurrent }: GpuTick): Promise<GpuBoard> {
    const { handle, board } = run;
    if (action.kind === "liftGpuCap") {
      const write = await this.#enforcer.lift(handle, signal);
      return { ...board, write };
    }
    const watched = handle.backend.name === "http" ? watts(action.watts * Math.max(1, count)) : action.watts;
    if (action.kind === "setGpuCap")
      return { ...board, write: await this.#enforcer.set(handle, { cap: action.watts, watched, isCurrent }, signal) };
    const check = await this.#enforcer.check(handle, action.watts, watched, signal);
    if (check.kind === "holds")
      return { ...board, write: { result: "applied", ...(check.message !== undefined && { message: check.message }) } };
    if (check.kind === "unreadable") return { ...board, write: { result: "error", message: check.message } };
    if (check.kind === "contested") {
      run.contested = check.message;
      return { ...board, write: { result: "blocked", message: check.message } };
    }
    run.undone = check.message;
    return { ...board, inForce: check.found };
  }

  #judge(backend: string, runs: readonly BoardState[], control: GpuPlanInput): DeviceReport {
    const { result, message } = gpuReport(control);
    const contested = joinMessages(...runs.map((run) => run.contested));
    if (contested !== "") return { backend, result, message, alarm: { reason: "CapContested", note: contested } };
    const capped = runs.filter(({ handle }) => this.#enforcer.entry(handle) !== undefined);
    if (capped.length === 0) return { backend, result, message };
    const undone = joinMessages(...runs.map((run) => run.undone));
    const broken = capped.filter(({ handle }) => this.#enforcer.verdict(handle) === "not effective");
    if (broken.length > 0) {
      const ids = broken.map(({ board }) => board.id).join(", ");
      const note = `not effective: GPU ${ids} stays above the cap although the cap reads back; firmware or another limit takes precedence`;
      const alarm = { reason: "CapNotEffective", note } as const;
      return { backend, result: "error", message: joinMessages(message, note), unproven: true, alarm };
    }
    if (undone !== "" && result === "applied")
      return { backend, result: "error", message: joinMessages(message, undone), unproven: true };
    const unproven = capped.some(({ handle }) => {
      const verdict = this.#enforcer.verdict(handle);
      return verdict === undefined || verdict === "not yet tested by load";
    });
    const untested = unproven && result === "applied" ? "not yet tested by load" : undefined;
    return { backend, result, message: joinMessages(message, untested), unproven };
  }

  #powerOf({ backend, board }: BoardHandle, { power }: GpuTick): Watts | undefined {
    return backend.name === "http" ? power.total : power.boards.get(board.id);
  }
}

/** The cap of a board that does not answer, from the journal. */
const journalledCap = (enforcer: CapEnforcer, handle: BoardHandle): Watts | undefined => {
  const entry = enforcer.entry(handle);
  return entry && watts(entry.ours ?? 0);
};

const missingBoard = ({ id, cap }: MissingBoard): GpuBoard => ({
  id,
  device: {},
  inForce: cap,
  lost: `the board is gone; the agent's cap of ${cap} W may still be in force`,
});

function simulated(backend: string, control: GpuPlanInput): DeviceReport {
  const would = planGpu(control).map((action) =>
    action.kind === "liftGpuCap" ? `lift the cap of GPU ${action.id}` : `set GPU ${action.id} to ${action.watts} W`,
  );
  const what = would.length === 0 ? "nothing would be changed" : `would ${would.join(", ")}`;
  const { message } = gpuReport({
    ...control,
    boards: control.boards.map((board) => ({ ...board, write: { result: "applied" } })),
  });
  return { backend, result: "none", message: joinMessages(`simulate only: ${what}`, message) };
}
