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
import { type Found, seatsOf } from "../host/host.ts";
import type { Reading } from "../telemetry/node-power.ts";
import { CapKeeper, type MissingBoard, type Seat } from "./cap-enforcer.ts";
import { type DeviceReport, words } from "./device-report.ts";
import type { Owner } from "./original-limits.ts";

export interface GpuTick {
  readonly enabled: boolean;
  /** What the route offers, and what of it is there. */
  readonly backends: readonly PowerCapBackend[];
  readonly found: Found;
  /** How many boards the one board of a service stands for. */
  readonly count: number;
  readonly intent: CapIntent;
  readonly power: Reading;
  readonly simulate: boolean;
  readonly signal: AbortSignal;
}

/** Set, found undone, set again: more plans than that go round in circles. */
const MOST_PLANS = 4;

/** What this tick found out about one board. */
interface BoardRun {
  readonly seat: Seat;
  board: GpuBoard;
  undone: string | undefined;
  contested: string | undefined;
}

/** The GPUs of one node. */
export class GpuDevice {
  readonly #keeper: CapKeeper;

  constructor(owner: Owner, journal: Journal, clock: Clock) {
    this.#keeper = new CapKeeper(owner, journal, clock);
  }

  /** Undefined where there is no GPU, and nobody asks anything of one. */
  async tick(tick: GpuTick): Promise<DeviceReport | undefined> {
    const { found, intent, enabled } = tick;
    const seats = seatsOf(found);
    const asked = intent.watts !== undefined || intent.pctOfMax !== undefined;
    const missing = this.#keeper.missing(tick.backends, seats).map(gone);
    if (seats.length === 0 && missing.length === 0 && !asked) return undefined;
    const noBackend = seats.length === 0 ? words(...found.absent) || "there is nothing to cap GPUs with" : undefined;
    for (const seat of seats) this.#keeper.observe(seat, this.#powerOf(seat, tick), tick.power.since);
    const runs = await Promise.all(seats.map(async (seat) => this.#begin(seat, tick)));
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

  async #begin(seat: Seat, { intent, signal }: GpuTick): Promise<BoardRun> {
    const { id, lost, locked } = seat.board;
    const capped = intent.watts !== undefined || (intent.pctOfMax ?? 100) < 100;
    const reachable = lost === undefined;
    // The limit before us is asked for only where a cap may go above it: some boards take long to answer.
    const device = reachable && capped ? await this.#keeper.device(seat, signal) : seat.board.device;
    const inForce = reachable ? await this.#keeper.inForce(seat, signal) : heldBy(this.#keeper, seat);
    // What carries a cap of ours is lifted, or checked, as any other; what carries none is not touched.
    const shut = locked !== undefined && inForce === undefined;
    const write: WriteOutcome | undefined = shut ? { result: "blocked", message: locked } : undefined;
    return { seat, board: { id, device, inForce, lost, write }, undone: undefined, contested: undefined };
  }

  /** Each board by itself: a lost one, or one that hangs, keeps no other from its cap. */
  async #carryOut(runs: readonly BoardRun[], control: () => GpuPlanInput, tick: GpuTick): Promise<void> {
    const byId = new Map(runs.map((run) => [run.board.id, run]));
    for (let plans = 0; plans < MOST_PLANS; plans++) {
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

  async #act(run: BoardRun, action: GpuAction, { signal, count }: GpuTick): Promise<GpuBoard> {
    const { seat, board } = run;
    if (action.kind === "liftGpuCap") {
      const write = await this.#keeper.lift(seat, signal);
      return { ...board, write };
    }
    const watched = seat.backend.name === "http" ? watts(action.watts * Math.max(1, count)) : action.watts;
    if (action.kind === "setGpuCap")
      return { ...board, write: await this.#keeper.set(seat, action.watts, watched, signal) };
    const check = await this.#keeper.check(seat, action.watts, watched, signal);
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

  #judge(backend: string, runs: readonly BoardRun[], control: GpuPlanInput): DeviceReport {
    const { result, message } = gpuReport(control);
    const contested = words(...runs.map((run) => run.contested));
    if (contested !== "") return { backend, result, message, alarm: { reason: "CapContested", note: contested } };
    const capped = runs.filter(({ seat }) => this.#keeper.entry(seat) !== undefined);
    if (capped.length === 0) return { backend, result, message };
    const undone = words(...runs.map((run) => run.undone));
    const broken = capped.filter(({ seat }) => this.#keeper.verdict(seat) === "not effective");
    if (broken.length > 0) {
      const ids = broken.map(({ board }) => board.id).join(", ");
      const note = `not effective: GPU ${ids} stays above the cap although it reads back; firmware, or another limit, decides`;
      const alarm = { reason: "CapNotEffective", note } as const;
      return { backend, result: "error", message: words(message, note), unproven: true, alarm };
    }
    if (undone !== "" && result === "applied")
      return { backend, result: "error", message: words(message, undone), unproven: true };
    const unproven = capped.some(({ seat }) => {
      const verdict = this.#keeper.verdict(seat);
      return verdict === undefined || verdict === "not yet tested by load";
    });
    const untested = unproven && result === "applied" ? "not yet tested by load" : undefined;
    return { backend, result, message: words(message, untested), unproven };
  }

  #powerOf({ backend, board }: Seat, { power }: GpuTick): Watts | undefined {
    return backend.name === "http" ? power.total : power.boards.get(board.id);
  }
}

/** What the journal says of a board that does not answer. */
const heldBy = (keeper: CapKeeper, seat: Seat): Watts | undefined => {
  const entry = keeper.entry(seat);
  return entry && watts(entry.ours ?? 0);
};

const gone = ({ id, ours }: MissingBoard): GpuBoard => ({
  id,
  device: {},
  inForce: ours,
  lost: `it is not there any more; it may carry our cap of ${ours} W still`,
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
  return { backend, result: "none", message: words(`simulate only: ${what}`, message) };
}
