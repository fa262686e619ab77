import type { ControlResult } from "../api/index.ts";
import { formatWatts, type Watts } from "../units/index.ts";
import { type CapDevice, type CapIntent, resolveCap } from "./cap-resolution.ts";
import { type WriteOutcome, worstFirst } from "./cpu-plan.ts";

/** A unit that is capped. A route with one value for the whole node, such as HTTP, has one board for all GPUs. */
export interface GpuBoard {
  /** The name for messages: an index or a UUID. */
  readonly id: string;
  readonly device: CapDevice;
  /** The cap that Joulie set on it. */
  readonly inForce?: Watts | undefined;
  /** Why the board does not respond. It is reported and skipped; the other boards are still capped. */
  readonly lost?: string | undefined;
  /** The outcome of this tick's write, once it was tried. A check that found its cap in place counts as an applied write. */
  readonly write?: WriteOutcome | undefined;
}

export interface GpuPlanInput {
  /** False if the route says `none`: then no board is touched. */
  readonly enabled: boolean;
  /** Why no backend can act on this node, with what to install; absent if one can. */
  readonly noBackend?: string | undefined;
  readonly intent: CapIntent;
  readonly boards: readonly GpuBoard[];
}

export type GpuAction =
  | { readonly kind: "setGpuCap"; readonly id: string; readonly watts: Watts }
  /** Like `checkRaplCap`: read back instead of writing. If the device reports another cap, plan again with that cap. */
  | { readonly kind: "checkGpuCap"; readonly id: string; readonly watts: Watts }
  | { readonly kind: "liftGpuCap"; readonly id: string };

export interface GpuPlanReport {
  readonly result: ControlResult;
  readonly message: string;
}

/** The actions to try in this tick. Boards are independent: there is no order, and a failure does not affect other boards. */
export const planGpu = (control: GpuPlanInput): readonly GpuAction[] =>
  control.enabled && control.noBackend === undefined
    ? distinct(control.boards)
        .filter(({ write }) => write === undefined)
        .map((board) => decide(control.intent, board).action)
        .filter((action) => action !== undefined)
    : [];

/** The node's result is that of its worst board. The message groups the boards by outcome. */
export function gpuReport(control: GpuPlanInput): GpuPlanReport {
  if (!control.enabled) return { result: "none", message: "GPU control is off" };
  const { noBackend, intent } = control;
  const boards = distinct(control.boards);
  const wanted = resolveCap(intent, {});
  const free = wanted.kind === "uncapped" && boards.every(({ inForce }) => inForce === undefined);
  if (free && !wanted.asked) return UNASKED;
  // If there is no limit to write and none to lift, neither a backend nor a board is needed.
  if (free && (noBackend !== undefined || boards.length === 0)) return LIFTED;
  if (noBackend !== undefined) return { result: "blocked", message: blockedBy(noBackend, boards) };
  return worstOf(boards.map((board) => ({ id: board.id, ...outcome(intent, board) })));
}

const LIFTED: GpuPlanReport = { result: "applied", message: "cap is 100 % of the maximum: no limit is written" };
const UNASKED: GpuPlanReport = { result: "none", message: "no GPU cap requested" };

/** Removes duplicate boards. */
const distinct = (boards: readonly GpuBoard[]): readonly GpuBoard[] => [
  ...new Map(boards.map((board) => [board.id, board])).values(),
];

function blockedBy(noBackend: string, boards: readonly GpuBoard[]): string {
  const held = boards.flatMap(({ id, inForce }) =>
    inForce === undefined ? [] : [`GPU ${id} keeps our cap of ${formatWatts(inForce)}`],
  );
  return [noBackend, ...held].join("; ");
}

interface Decision extends GpuPlanReport {
  /** The action that must succeed for the report to be true. */
  readonly action?: GpuAction;
}

function decide(intent: CapIntent, { id, device, inForce, lost }: GpuBoard): Decision {
  if (lost !== undefined) return { result: "error", message: lost };
  const cap = resolveCap(intent, device);
  if (cap.kind === "percent") {
    const kept = inForce === undefined ? "" : `; our earlier cap of ${formatWatts(inForce)} stays`;
    return { result: "blocked", message: `cannot convert ${cap.pctOfMax} % of an unknown maximum to watts${kept}` };
  }
  if (cap.kind === "watts") {
    const kind = inForce === cap.watts ? "checkGpuCap" : "setGpuCap";
    const message = [`${formatWatts(cap.watts)} per GPU`, cap.clamped].filter((word) => word !== undefined).join("; ");
    return { result: "applied", message, action: { kind, id, watts: cap.watts } };
  }
  const rest = cap.asked ? LIFTED : UNASKED;
  return inForce === undefined ? rest : { ...rest, action: { kind: "liftGpuCap", id } };
}

function outcome(intent: CapIntent, board: GpuBoard): GpuPlanReport {
  const { result, message, action } = decide(intent, board);
  if (action === undefined) return { result, message };
  const { write } = board;
  if (write === undefined) return { result: "error", message: `${message}; not carried out in this tick` };
  const words = write.message === undefined ? message : `${message}; ${write.message}`;
  return { result: write.result === "applied" ? result : write.result, message: words };
}

const NO_GPU: GpuPlanReport = { result: "blocked", message: "no GPU was found on this node" };

function worstOf(outcomes: readonly (GpuPlanReport & { readonly id: string })[]): GpuPlanReport {
  const sorted = worstFirst(outcomes);
  const [{ result, message } = NO_GPU] = sorted;
  const groups = Map.groupBy(sorted, (board) => `${board.result}: ${board.message}`);
  if (groups.size <= 1) return { result, message };
  const lines = [...groups].map(([what, boards]) => `GPU ${boards.map(({ id }) => id).join(", ")} ${what}`);
  return { result, message: lines.join("; ") };
}
