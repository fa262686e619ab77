import process from "node:process";
import { errorCodeOf, errorMessageOf } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { isApiError } from "../../../platform/kube/index.ts";
import type { ConsoleContext } from "../context.ts";

const DEFAULT_INTERVAL = milliseconds(2000);
const MAX_PAUSE = milliseconds(30_000);
const MAX_DOUBLINGS = 10;

export interface WatchTextOptions {
  /** Prints only the lines that changed, as kubectl does for lists. */
  readonly rowsOnly?: boolean;
  readonly interval?: Milliseconds;
}

/** Prints the text again whenever it changes, until the signal aborts. An API error is one line, and the pauses grow. */
export async function watchText(
  { clock, out }: Pick<ConsoleContext, "clock" | "out">,
  readText: () => Promise<string>,
  signal: AbortSignal,
  { rowsOnly = false, interval = DEFAULT_INTERVAL }: WatchTextOptions = {},
): Promise<void> {
  let printed: ReadonlySet<string> | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const text = await endedBy(signal, readText());
      if (failures > 0) out("# the API answers again\n");
      failures = 0;
      const parts = rowsOnly ? linesOf(text) : [text];
      const changed = parts.filter((part) => printed?.has(withoutAges(part)) !== true);
      const separator = printed === undefined || rowsOnly ? "" : "\n";
      if (changed.length > 0) out(separator + changed.join(""));
      printed = new Set(parts.map(withoutAges));
    } catch (error) {
      if (signal.aborted) break;
      // A wrong command line stays wrong, such as -o typo or a selector that the API server cannot parse.
      if (errorCodeOf(error) === "JOULIE_E_USAGE" || isApiError(error, "badRequest")) throw error;
      if (failures === 0) out(`# ${errorMessageOf(error)}; trying again\n`);
      failures++;
    }
    const backoff = interval * 2 ** Math.min(failures, MAX_DOUBLINGS);
    const pause = milliseconds(Math.min(MAX_PAUSE, backoff));
    await clock.sleep(pause, signal).catch(() => undefined);
  }
}

/** The lines of a text, each with its line break. */
const linesOf = (text: string): string[] => text.split(/(?<=\n)/);

/** Matches an age such as `5m`, and `"age": 300` in JSON and YAML. */
const AGES = /\b\d+[smhd]\b|\b(?:twinAge|age)"?: -?\d+/g;

/** Two texts that differ only in ages count as the same, because ages grow all the time. */
const withoutAges = (text: string): string => text.replaceAll(AGES, "").replaceAll(/\s+/g, " ");

/** Aborted by Ctrl-C or a stop signal. A second Ctrl-C ends the process at once. */
export function untilInterrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

/** Waits for the work. Rejects as soon as the signal aborts, even if the work hangs. */
export async function endedBy<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
