import type { MonotonicInstant } from "../../../core/units/index.ts";
import type { GpuCapBoard } from "../gpu/gpu-board.ts";
import { errorText } from "../host/host-error.ts";
import type { NvmlHandle } from "./nvml-functions.ts";

/** A board whose UUID is known. */
export interface KnownNvmlBoard {
  readonly index: number;
  readonly handle: NvmlHandle;
  readonly board: GpuCapBoard;
  readonly describedAt: MonotonicInstant;
}

/** The result of looking up the board at an index. */
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
