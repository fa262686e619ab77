import type { MonotonicInstant } from "../../../core/units/index.ts";
import type { GpuCapBoard } from "../gpu/gpu-board.ts";
import { errorText } from "../host/host-error.ts";
import type { NvmlHandle } from "./nvml-functions.ts";

/** A board that has said who it is. */
export interface KnownNvmlBoard {
  readonly index: number;
  readonly handle: NvmlHandle;
  readonly board: GpuCapBoard;
  readonly describedAt: MonotonicInstant;
}

/** What came of asking for the board with an index. */
export type NvmlBoardLookup = { readonly index: number } & (
  | { readonly known: KnownNvmlBoard; readonly error?: never }
  | { readonly known?: never; readonly error: unknown }
);

/**
 * All boards that were called up, and those that were there before: one that no longer answers is lost, not forgotten. It is
 * known by the index it had, for its UUID it cannot tell.
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
    const [why] = place < 0 ? [] : unnamed.splice(place, 1);
    return { ...board, lost: why === undefined ? GONE : errorText(why.error) };
  });
  return [
    ...found.flatMap(({ known }) => (known === undefined ? [] : [known.board])),
    ...lost,
    ...unnamed.map(({ index, error }) => nameless(index, errorText(error))),
  ];
}

const GONE =
  "the driver no longer lists it: it fell off the bus or was taken out; if it is to stay away, restart the agent";

/** A board that has not said who it is since this program started. */
const nameless = (index: number, lost: string): GpuCapBoard => ({
  id: `nvidia-${index}`,
  vendor: "nvidia",
  device: {},
  lost,
});
