import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { ConsoleContext } from "./context.ts";

const INTERVAL = milliseconds(2000);
const LONGEST_PAUSE = milliseconds(30_000);

/**
 * Prints again whenever the text changes, until the signal. An API error is one line, and the next attempt comes later; the
 * watch never ends because of it.
 */
export async function watchText(
  { clock, out }: Pick<ConsoleContext, "clock" | "out">,
  text: () => Promise<string>,
  signal: AbortSignal,
  interval: Milliseconds = INTERVAL,
): Promise<void> {
  let last = "";
  let failures = 0;
  while (!signal.aborted) {
    try {
      const next = await text();
      if (failures > 0) out("# the API answers again\n");
      failures = 0;
      if (next !== last) out(last === "" ? next : `\n${next}`);
      last = next;
    } catch (error) {
      if (failures === 0) out(`# ${error instanceof Error ? error.message : String(error)}; trying again\n`);
      failures++;
    }
    const pause = Math.min(LONGEST_PAUSE, interval * 2 ** Math.min(failures, 10));
    await clock.sleep(milliseconds(pause), signal).catch(() => undefined);
  }
}
