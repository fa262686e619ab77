import process from "node:process";
import { errorCodeOf, errorMessageOf } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { isApiError } from "../../../platform/kube/index.ts";
import type { ConsoleContext } from "../context.ts";

const INTERVAL = milliseconds(2000);
const MAX_PAUSE = milliseconds(30_000);

export interface WatchTextOptions {
  /** Prints only the lines that changed, as kubectl does for lists. */
  readonly rowsOnly?: boolean;
  readonly interval?: Milliseconds;
}

/** Prints again whenever the text changes, until the signal or a usage error. API errors are one line. */
export async function watchText(
  { clock, out }: Pick<ConsoleContext, "clock" | "out">,
  text: () => Promise<string>,
  signal: AbortSignal,
  { rowsOnly = false, interval = INTERVAL }: WatchTextOptions = {},
): Promise<void> {
  let last: ReadonlySet<string> | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const next = await endedBy(signal, text());
      if (failures > 0) out("# the API answers again\n");
      failures = 0;
      const parts = rowsOnly ? next.split(/(?<=\n)/) : [next];
      const changed = parts.filter((part) => last?.has(withoutAges(part)) !== true);
      if (changed.length > 0) out((last === undefined || rowsOnly ? "" : "\n") + changed.join(""));
      last = new Set(parts.map(withoutAges));
    } catch (error) {
      if (signal.aborted) break;
      // A wrong command line stays wrong, such as -o typo or a selector that the API server cannot parse.
      if (errorCodeOf(error) === "JOULIE_E_USAGE" || isApiError(error, "badRequest")) throw error;
      if (failures === 0) out(`# ${errorMessageOf(error)}; trying again\n`);
      failures++;
    }
    const pause = Math.min(MAX_PAUSE, interval * 2 ** Math.min(failures, 10));
    await clock.sleep(milliseconds(pause), signal).catch(() => undefined);
  }
}

/** As tables, sentences, JSON and YAML show them. */
const AGES = /\b\d+[smhd]\b|\b(?:twinAge|age)"?: -?\d+/g;

/** Ages grow all the time: a text in which only they differ has not changed. */
const withoutAges = (text: string): string => text.replaceAll(AGES, "").replaceAll(/\s+/g, " ");

/** Aborted by Ctrl-C or a stop signal. A second Ctrl-C ends the process at once. */
export function untilInterrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

/** The result of the work; rejects as soon as the signal aborts, also if the work hangs. */
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
