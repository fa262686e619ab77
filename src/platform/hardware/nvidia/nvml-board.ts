import {
  formatWatts,
  isPositive,
  type MonotonicInstant,
  type Watts,
  wattsFromMilliwatts,
} from "../../../core/units/index.ts";
import { type GpuCapBoard, rangeWarnings } from "../gpu/gpu-board.ts";
import { errorText } from "../host/host-error.ts";
import { isMissingFeature, type NvmlHandle } from "./nvml-functions.ts";
import type { NvmlCaller } from "./nvml-session.ts";

/** Reads everything about one board. Rejects if the board is lost; unsupported features are left out. */
export async function describeBoard(call: NvmlCaller, id: string, handle: NvmlHandle): Promise<GpuCapBoard> {
  const [model] = await orUnsupported(call(id, "name", handle));
  const [min, max] = await orUnsupported(call(id, "constraints", handle));
  const [limit] = await orUnsupported(call(id, "limit", handle));
  const [defaultLimit] = await orUnsupported(call(id, "defaultLimit", handle));
  const [enforced] = await orUnsupported(call(id, "enforcedLimit", handle));
  const [mig] = await orUnsupported(call(id, "migMode", handle));
  const [persistence] = await orUnsupported(call(id, "persistenceMode", handle));
  const range = { min: positiveWatts(min), max: positiveWatts(max) };
  const locked = limit === undefined ? "it has no settable power limit: NVML reports not supported" : undefined;
  const warnings = [
    ...rangeWarnings(range),
    ...(isPositive(limit) && isPositive(enforced) && enforced < limit ? [lowerElsewhere(enforced, limit)] : []),
    ...(mig === 1 ? [MIG_ON] : []),
    ...(persistence === 0 && locked === undefined ? [NO_PERSISTENCE] : []),
  ];
  return {
    id,
    vendor: "nvidia",
    model,
    // NVML accepts milliwatts and boards round them; all boards keep whole watts.
    device: { ...range, step: WHOLE_WATTS },
    defaultLimit: positiveWatts(defaultLimit),
    ...(mig === undefined ? {} : { slicing: ["mig"] }),
    ...(locked === undefined ? {} : { locked }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

const WHOLE_WATTS = wattsFromMilliwatts(1000);
const MIG_ON = "MIG is enabled: power and limit apply to the whole board, not to a slice";
const NO_PERSISTENCE =
  "persistence mode is off: the limit returns to its default when the last program closes the GPU; run nvidia-persistenced";

const lowerElsewhere = (enforced: number, limit: number): string =>
  `enforces ${formatWatts(wattsFromMilliwatts(enforced))}, below its limit of ${formatWatts(wattsFromMilliwatts(limit))}: the BMC (out of band) or the VBIOS sets a lower limit`;

/** NVML reports 0 for an unknown value. */
const positiveWatts = (milliwatts: number | undefined): Watts | undefined =>
  isPositive(milliwatts) ? wattsFromMilliwatts(milliwatts) : undefined;

/** The results of a call, or none if the board or the driver does not support it. */
export async function orUnsupported<Results extends readonly unknown[]>(
  call: Promise<Results>,
): Promise<Results | { readonly [place in keyof Results]: undefined }> {
  try {
    return await call;
  } catch (error) {
    if (!isMissingFeature(error)) throw error;
    return [] as unknown as { readonly [place in keyof Results]: undefined };
  }
}

export interface KnownNvmlBoard {
  readonly index: number;
  readonly handle: NvmlHandle;
  readonly board: GpuCapBoard;
  readonly describedAt: MonotonicInstant;
}

export type NvmlBoardLookup = { readonly index: number } & (
  | { readonly known: KnownNvmlBoard; readonly error?: never }
  | { readonly known?: never; readonly error: unknown }
);

/**
 * Merges the boards found now with those known before. A known board that no longer responds is reported as lost. It is matched by
 * its former index, because it cannot report its UUID.
 */
export function mergeBoards(
  before: readonly KnownNvmlBoard[],
  found: readonly NvmlBoardLookup[],
): readonly GpuCapBoard[] {
  const answering = new Set(found.map(({ known }) => known?.board.id));
  const silent = before.filter(({ board }) => !answering.has(board.id));
  const unnamed = found.flatMap(({ error, index }) => (error === undefined ? [] : [{ index, error }]));
  const lost = silent.map(({ board, index }) => {
    const place = unnamed.findIndex((one) => one.index === index);
    const [failed] = place < 0 ? [] : unnamed.splice(place, 1);
    return { ...board, lost: failed === undefined ? GONE : errorText(failed.error) };
  });
  return [
    ...found.flatMap(({ known }) => (known === undefined ? [] : [known.board])),
    ...lost,
    ...unnamed.map(({ index, error }) => nameless(index, errorText(error))),
  ];
}

const GONE =
  "the driver no longer lists it: it fell off the bus or was removed; if it was removed on purpose, restart the agent";

/** A board that has not reported its UUID since this program started. */
const nameless = (index: number, lost: string): GpuCapBoard => ({
  id: `nvidia-${index}`,
  vendor: "nvidia",
  device: {},
  lost,
});
