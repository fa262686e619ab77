import type { WriteOutcome } from "../../../core/control/index.ts";
import { formatWatts, isPositive, type Watts, watts } from "../../../core/units/index.ts";
import { errorText } from "../host/host-error.ts";
import type { CapBoard, PowerCapBackend } from "../port.ts";

/** A GPU, with what discovery publishes besides what capping needs. */
export interface GpuCapBoard extends CapBoard {
  readonly vendor: GpuBackendVendor;
  /** What the vendor ships it with. */
  readonly defaultLimit?: Watts | undefined;
  /** Ways in which it can be cut into slices, where that is known; power stays the whole board's. */
  readonly slicing?: readonly string[] | undefined;
}

export type GpuBackendVendor = "nvidia" | "amd" | "intel";

export type GpuBackendView =
  | { readonly boards: readonly GpuCapBoard[]; readonly absent?: never }
  | { readonly boards?: never; readonly absent: string };

export interface GpuBackend extends PowerCapBackend {
  readonly kind: "gpu";
  discover(signal?: AbortSignal): Promise<GpuBackendView>;
}

/** No GPU draws more; a figure beyond it is a slip of units, and so is one below. */
const MAX_LIMIT = watts(10_000);
const MIN_LIMIT = watts(1);

/** Why a limit must not be written at all, whatever the board would say: 0 switches some boards' limit off. */
export function whyInvalidLimit(limit: Watts): string | undefined {
  return isPositive(limit) && limit >= MIN_LIMIT && limit <= MAX_LIMIT
    ? undefined
    : `refused: ${formatWatts(limit)} is not between ${formatWatts(MIN_LIMIT)} and ${formatWatts(MAX_LIMIT)}`;
}

/** The journal's text of an original limit. One form for every backend: a board may be restored by another than capped it. */
export const originalText = (limit: Watts): string => String(limit);

export function parseOriginal(text: string): Watts | undefined {
  const limit = watts(/^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);
  return whyInvalidLimit(limit) === undefined ? limit : undefined;
}

/** Figures that differ by less are one figure, rounded on the way. */
const SAME_WITHIN = watts(0.5);

const same = (a: Watts, b: Watts): boolean => Math.abs(a - b) <= SAME_WITHIN;

export interface GpuReadBack {
  readonly asked: Watts;
  /** What the board says its limit is. */
  readonly limit: Watts;
  /** What it goes by in fact, where it tells: the lowest of several limits. */
  readonly enforced?: Watts | undefined;
}

/** Whether the board now holds what it was asked to. */
export function readBackOutcome({ asked, limit, enforced }: GpuReadBack): WriteOutcome {
  if (!same(asked, limit))
    return {
      result: "error",
      message: `${formatWatts(asked)} was written and ${formatWatts(limit)} reads back: another program or the firmware sets it`,
    };
  if (enforced === undefined || same(asked, enforced)) return { result: "applied" };
  return enforced < asked
    ? {
        result: "blocked",
        message: `enforced ${formatWatts(enforced)}, not ${formatWatts(asked)}: a lower limit is set out of band (BMC) or by the VBIOS`,
      }
    : { result: "error", message: `${formatWatts(asked)} reads back, yet the board enforces ${formatWatts(enforced)}` };
}

/** Where a restored limit lies outside what the board accepts by now, the nearest it does accept. */
export function clampToRange(limit: Watts, { min, max }: { min?: Watts | undefined; max?: Watts | undefined }): Watts {
  const raised = isPositive(min) && limit < min ? min : limit;
  return isPositive(max) && raised > max ? max : raised;
}

/** The outcome of putting back a limit, which says where it is not the one that was. */
export const restoreOutcome = (original: Watts, written: Watts, outcome: WriteOutcome): WriteOutcome =>
  outcome.result === "applied" && written !== original
    ? {
        ...outcome,
        message: `${formatWatts(original)} is out of range by now: restored to ${formatWatts(written)}`,
      }
    : outcome;

/** The outcome of a cap that did not work, once the limit before it was put back; an error where that did not work either. */
export async function outcomeAfterRollback(
  outcome: WriteOutcome,
  putBack: () => Promise<unknown>,
): Promise<WriteOutcome> {
  try {
    await putBack();
    return outcome;
  } catch (error) {
    return { result: "error", message: `${outcome.message}; nor could it be taken back: ${errorText(error)}` };
  }
}

/** What makes no sense about a range, in words. */
export function rangeWarnings({ min, max }: { min?: Watts | undefined; max?: Watts | undefined }): readonly string[] {
  return isPositive(min) && isPositive(max) && min > max
    ? [`its range makes no sense: at least ${formatWatts(min)}, at most ${formatWatts(max)}`]
    : [];
}

/** Those seen before that are not there now: they are lost, not forgotten, and keep their ids. */
export const lostBoards = (
  before: Iterable<GpuCapBoard>,
  now: readonly GpuCapBoard[],
  lost: string,
): readonly GpuCapBoard[] => {
  const there = new Set(now.map(({ id }) => id));
  return [...before].filter(({ id }) => !there.has(id)).map((board) => ({ ...board, lost }));
};
