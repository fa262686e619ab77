import type { WriteOutcome } from "../../../core/control/index.ts";
import type { Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { PowerCapBackend } from "../../../platform/hardware/index.ts";
import type { Journal, JournalEntry, JournalKey } from "../../../platform/journal/index.ts";

/** Whose boards a enforcer answers for. */
export interface BoardOwner {
  readonly node: string;
  /** Where the node's service is, as its route says at the moment. */
  readonly endpoint: () => string | undefined;
  /** Of this host, whose limits do not outlive it. */
  readonly boot: string | undefined;
}

/** What one entry says beyond what its board said. */
export const bootAndTime = (
  { boot }: BoardOwner,
  backend: string,
  clock: Clock,
): Pick<JournalEntry, "boot" | "at"> => ({
  ...(backend !== "http" && boot !== undefined && { boot }),
  at: new Date(clock.now()).toISOString(),
});

/** As near as what was set reads back. */
export const isSameLimit = (limit: number, expected: number): boolean =>
  Math.abs(limit - expected) <= Math.max(0.5, 0.005 * expected);

/** The key under which the journal knows a board: one of this host, or of a node that is reached over HTTP. */
export const journalKeyOf = ({ node, endpoint }: BoardOwner, backend: string, board: string): JournalKey =>
  backend === "http" ? { node, backend, endpoint: endpoint(), board } : { backend, board };

/** What drives a GPU may change while its cap is in force; the board and its original do not. */
export const journalBackend = ({ name, kind }: Pick<PowerCapBackend, "name" | "kind">): string =>
  kind === "gpu" && name !== "http" ? "gpu" : name;

/**
 * What somebody else has set a board to, where that is less than we had set: theirs to raise. Told only of RAPL, where all write
 * the one register that is read; an NVIDIA board tells the least of what several want, and ours is one of those.
 */
export async function limitLoweredByOthers(
  backend: PowerCapBackend,
  board: string,
  ours: Watts | undefined,
  signal: AbortSignal,
): Promise<Watts | undefined> {
  if (backend.name !== "rapl" || ours === undefined) return undefined;
  const { limit } = await backend.limit(board, signal);
  return limit !== undefined && limit < ours && !isSameLimit(limit, ours) ? limit : undefined;
}

/** The same as one word, for what is known of it in memory. */
export const journalKeyText = ({ backend, endpoint = "", board }: JournalKey): string =>
  `${backend} ${endpoint} ${board}`;

/** Undefined once it is safe; otherwise what keeps the write from being done. */
export async function saveOriginal(journal: Journal, entry: JournalEntry): Promise<WriteOutcome | undefined> {
  try {
    await journal.keep(entry);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { result: "blocked", message: `${why}; nothing is capped until STATE_DIR can be written` };
  }
}
