import * as z from "zod";
import { type Watts, watts } from "../../core/units/index.ts";

/** How one board was before Joulie touched it, and what it needs to be so again. */
export interface JournalEntry {
  /** Whose board it is, where that is not this host: a node that is controlled over HTTP. */
  readonly node?: string | undefined;
  readonly backend: string;
  /** By which endpoint it is reached, where that is over HTTP: behind another there is another board. */
  readonly endpoint?: string | undefined;
  readonly board: string;
  /** The backend's own words; only the backend reads them. */
  readonly original: string;
  /** The limit it had then, in watts: a cap never goes above it. */
  readonly limit?: Watts | undefined;
  /** What Joulie last set, in watts or in percent of throttle. It may be a step behind: it is noted, not waited for. */
  readonly ours?: number | undefined;
  /** In which boot of this host that was: what the firmware sets at the next one is the original then. */
  readonly boot?: string | undefined;
  /** When it was written down. */
  readonly at: string;
}

export type JournalKey = Pick<JournalEntry, "node" | "backend" | "endpoint" | "board">;

export const keyText = ({ node = "", backend, endpoint = "", board }: JournalKey): string =>
  JSON.stringify([node, backend, endpoint, board]);

const short = z.string().min(1).max(512);
const finite = z.number().min(0);
/** A cpufreq policy for each of some ten thousand CPUs. */
const LONGEST_ORIGINAL = 2 ** 20;

export const entrySchema: z.ZodType<JournalEntry> = z.object({
  node: short.optional(),
  backend: short,
  endpoint: z.string().min(1).max(4096).optional(),
  board: short,
  original: z.string().max(LONGEST_ORIGINAL),
  limit: finite.transform((value): Watts => watts(value)).optional(),
  ours: finite.optional(),
  boot: short.optional(),
  at: z.string().max(64),
});

/** Why an entry must not be written: it could not be read again. */
export function checkEntry(entry: JournalEntry): string | undefined {
  const { error } = entrySchema.safeParse(entry);
  const [issue] = error?.issues ?? [];
  return issue && `${issue.path.join(".")}: ${issue.message}`;
}
