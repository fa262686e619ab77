import { JoulieError } from "../../core/api/index.ts";
import { elapsed, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { type FolderLock, lockFolder } from "../../platform/lock/index.ts";
import type { Logger } from "../../platform/log/index.ts";

/** An agent that was told to end takes up to 30 s. */
const PATIENCE = milliseconds(40_000);
const PAUSE = milliseconds(500);

const NO_LOCK: FolderLock = { release: async () => undefined };

/** Two agents that restore each other's limits would leak both: one at a time has STATE_DIR. Waits for one that is ending. */
export async function lockState(
  directory: string,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<FolderLock> {
  const from = clock.monotonic();
  for (let told = false; ; told = true) {
    const lock = await lockOrNone(directory, (why) => log.warn({ directory, why }, "STATE_DIR cannot be locked"));
    if (lock !== undefined) return lock;
    if (!told) log.warn({ directory }, "another agent has STATE_DIR; waiting for its end");
    if (elapsed(from, clock.monotonic()) >= PATIENCE) {
      const what = `another agent is running with STATE_DIR=${directory}`;
      throw new JoulieError("JOULIE_E_CONFIG_VALUE", `${what}: stop it, or give this one a directory of its own`);
    }
    await clock.sleep(PAUSE, signal);
  }
}

/** Undefined where an agent that lives has it. A folder that can hold no lock is no reason not to go on. */
export async function lockOrNone(directory: string, onProblem: (why: string) => void): Promise<FolderLock | undefined> {
  try {
    return await lockFolder(directory);
  } catch (error) {
    onProblem(error instanceof Error ? error.message : String(error));
    return NO_LOCK;
  }
}
