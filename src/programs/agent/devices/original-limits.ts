import { errorMessageOf } from "../../../core/api/index.ts";
import type { WriteOutcome } from "../../../core/control/index.ts";
import type { Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { PowerCapBackend } from "../../../platform/hardware/index.ts";
import type { Journal, JournalEntry, JournalKey } from "../../../platform/journal/index.ts";

export interface BoardOwner {
  readonly node: string;
  readonly endpoint: () => string | undefined;
  readonly boot: string | undefined;
}

export const bootAndTime = (
  { boot }: BoardOwner,
  backend: string,
  clock: Clock,
): Pick<JournalEntry, "boot" | "at"> => ({
  ...(backend !== "http" && boot !== undefined && { boot }),
  at: new Date(clock.now()).toISOString(),
});

/** Whether two limits are equal within the rounding of a read-back. */
export const isSameLimit = (limit: number, expected: number): boolean =>
  Math.abs(limit - expected) <= Math.max(0.5, 0.005 * expected);

export const journalKeyOf = ({ node, endpoint }: BoardOwner, backend: string, board: string): JournalKey =>
  backend === "http" ? { node, backend, endpoint: endpoint(), board } : { backend, board };

/** The backend name in the journal. All host GPU backends share one, because a GPU's driver may change while it is capped. */
export const journalBackend = ({ name, kind }: Pick<PowerCapBackend, "name" | "kind">): string =>
  kind === "gpu" && name !== "http" ? "gpu" : name;

/**
 * The limit in force, if another program set it lower than the agent did; the agent does not raise it. Only RAPL can tell: it has
 * one register that all programs write. An NVIDIA board reports the lowest of several limits, and the agent's may be that one.
 */
export async function limitLoweredByOthers(
  backend: PowerCapBackend,
  board: string,
  expected: Watts | undefined,
  signal: AbortSignal,
): Promise<Watts | undefined> {
  if (backend.name !== "rapl" || expected === undefined) return undefined;
  const { limit } = await backend.limit(board, signal);
  return limit !== undefined && limit < expected && !isSameLimit(limit, expected) ? limit : undefined;
}

export const journalKeyText = ({ backend, endpoint = "", board }: JournalKey): string =>
  `${backend} ${endpoint} ${board}`;

/** Saves an original limit. Returns undefined, or the outcome that blocks the write. */
export async function saveOriginal(journal: Journal, entry: JournalEntry): Promise<WriteOutcome | undefined> {
  try {
    await journal.keep(entry);
    return undefined;
  } catch (error) {
    const why = errorMessageOf(error);
    return { result: "blocked", message: `${why}; nothing is capped until STATE_DIR can be written` };
  }
}
