import * as z from "zod";
import { type Watts, watts } from "../../core/units/index.ts";

/** The original limit of one board before Joulie changed it, and what is needed to restore it. */
export interface JournalEntry {
  /** The node of the board if it is not this host: a node that is controlled over HTTP. */
  readonly node?: string | undefined;
  readonly backend: string;
  /** The HTTP endpoint of the board, if any: another endpoint means another board. */
  readonly endpoint?: string | undefined;
  readonly board: string;
  /** The backend's own data; only the backend reads it. */
  readonly original: string;
  /** The original limit, in watts: a cap never exceeds it. */
  readonly limit?: Watts | undefined;
  /** The value that Joulie last set, in watts or percent of throttle. It may be one step behind, because it is written later. */
  readonly ours?: number | undefined;
  /** The boot of this host at that time: after the next boot the firmware's limit is the original. */
  readonly boot?: string | undefined;
  /** When the entry was created. */
  readonly at: string;
}

export type JournalKey = Pick<JournalEntry, "node" | "backend" | "endpoint" | "board">;

export const keyText = ({ node = "", backend, endpoint = "", board }: JournalKey): string =>
  JSON.stringify([node, backend, endpoint, board]);

const short = z.string().min(1).max(512);
const finite = z.number().min(0);
/** One cpufreq policy for each of about ten thousand CPUs. */
const MAX_ORIGINAL = 2 ** 20;

export const entrySchema: z.ZodType<JournalEntry> = z.object({
  node: short.optional(),
  backend: short,
  endpoint: z.string().min(1).max(4096).optional(),
  board: short,
  original: z.string().max(MAX_ORIGINAL),
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
