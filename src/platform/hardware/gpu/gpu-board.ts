import type { WriteOutcome } from "../../../core/control/index.ts";
import { formatWatts, isPositive, type Watts, watts } from "../../../core/units/index.ts";
import { errorText } from "../host/host-error.ts";
import type { CapBoard, PowerCapBackend } from "../port.ts";

/** A GPU, with the fields that discovery publishes in addition to the cap range. */
export interface GpuCapBoard extends CapBoard {
  readonly vendor: GpuBackendVendor;
  /** The vendor's default limit. */
  readonly defaultLimit?: Watts | undefined;
  /** Supported partitioning modes (`mig`), if known. Power always belongs to the whole board. */
  readonly slicing?: readonly string[];
}

export type GpuBackendVendor = "nvidia" | "amd" | "intel";

export type GpuBackendView =
  | { readonly boards: readonly GpuCapBoard[]; readonly absent?: never }
  | { readonly boards?: never; readonly absent: string };

export interface GpuBackend extends PowerCapBackend {
  readonly kind: "gpu";
  discover(signal?: AbortSignal): Promise<GpuBackendView>;
}

/** No GPU has a limit outside this range: such a value is a unit error. */
const MAX_LIMIT = watts(10_000);
const MIN_LIMIT = watts(1);

/** Why a limit must not be written to any board: 0, for example, disables the limit of some boards. */
export function whyInvalidLimit(limit: Watts): string | undefined {
  return isPositive(limit) && limit >= MIN_LIMIT && limit <= MAX_LIMIT
    ? undefined
    : `rejected: ${formatWatts(limit)} is not between ${formatWatts(MIN_LIMIT)} and ${formatWatts(MAX_LIMIT)}`;
}

/** The journal's text of an original limit. All backends share one format, because another backend may restore the board. */
export const originalText = (limit: Watts): string => String(limit);

export function parseOriginal(text: string): Watts | undefined {
  const limit = watts(/^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);
  return whyInvalidLimit(limit) === undefined ? limit : undefined;
}

/** Limits that differ by no more than this are equal: boards round them. */
const TOLERANCE = watts(0.5);

const isSameLimit = (a: Watts, b: Watts): boolean => Math.abs(a - b) <= TOLERANCE;

export interface GpuReadBack {
  readonly requested: Watts;
  readonly limit: Watts;
  /** The limit that the board enforces, if it reports one: the lowest of several limits. */
  readonly enforced?: Watts | undefined;
}

export function readBackOutcome({ requested: asked, limit, enforced }: GpuReadBack): WriteOutcome {
  if (!isSameLimit(asked, limit))
    return {
      result: "error",
      message: `wrote ${formatWatts(asked)} but read back ${formatWatts(limit)}: another program or the firmware sets it`,
    };
  if (enforced === undefined || isSameLimit(asked, enforced)) return { result: "applied" };
  return enforced < asked
    ? {
        result: "blocked",
        message: `the board enforces ${formatWatts(enforced)}, not ${formatWatts(asked)}: the BMC (out of band) or the VBIOS sets a lower limit`,
      }
    : { result: "error", message: `read back ${formatWatts(asked)}, but the board enforces ${formatWatts(enforced)}` };
}

/** The nearest limit that the board accepts now: its range may have changed since the original was recorded. */
export function clampToRange(limit: Watts, { min, max }: { min?: Watts | undefined; max?: Watts | undefined }): Watts {
  const raised = isPositive(min) && limit < min ? min : limit;
  return isPositive(max) && raised > max ? max : raised;
}

/** The outcome of a restore, with a message if the original had to be clamped. */
export const restoreOutcome = (original: Watts, written: Watts, outcome: WriteOutcome): WriteOutcome =>
  outcome.result === "applied" && written !== original
    ? {
        ...outcome,
        message: `${formatWatts(original)} is out of range now: restored to ${formatWatts(written)}`,
      }
    : outcome;

/** Rolls back a cap that was not applied. Returns its outcome, or an error if the rollback fails, too. */
export async function outcomeAfterRollback(
  outcome: WriteOutcome,
  rollBack: () => Promise<unknown>,
): Promise<WriteOutcome> {
  try {
    await rollBack();
    return outcome;
  } catch (error) {
    return { result: "error", message: `${outcome.message}; restoring the previous limit failed: ${errorText(error)}` };
  }
}

/** Describes an invalid range. */
export function rangeWarnings({ min, max }: { min?: Watts | undefined; max?: Watts | undefined }): readonly string[] {
  return isPositive(min) && isPositive(max) && min > max
    ? [`invalid range: minimum ${formatWatts(min)}, maximum ${formatWatts(max)}`]
    : [];
}

/** Boards that were seen before and are missing now. They stay in the list as lost, with their ids. */
export const lostBoards = (
  before: Iterable<GpuCapBoard>,
  now: readonly GpuCapBoard[],
  lost: string,
): readonly GpuCapBoard[] => {
  const present = new Set(now.map(({ id }) => id));
  return [...before].filter(({ id }) => !present.has(id)).map((board) => ({ ...board, lost }));
};
