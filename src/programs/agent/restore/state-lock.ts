import { CodedError, type ErrorCode, JoulieError } from "../../../core/api/index.ts";
import { elapsed, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type FolderLock, lockFolder } from "../../../platform/lock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";

/** An agent that was told to end takes up to 30 s. */
const PATIENCE = milliseconds(40_000);
const STATE_DIR: ErrorCode = "JOULIE_E_STATE_DIR";
const PAUSE = milliseconds(500);

const NO_LOCK: FolderLock = { release: async () => undefined };

/** Two agents that restore each other's limits would leak both: one at a time has STATE_DIR. Waits for one that is ending. */
export async function lockState(
  directory: string,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<FolderLock> {
  const from = clock.monotonic();
  for (let told = false; ; told = true) {
    const tried = await tryLock(directory, (why) =>
      log.warn({ code: STATE_DIR, directory, why }, "STATE_DIR cannot be locked"),
    );
    if (tried.lock !== undefined) return tried.lock;
    const { failed } = tried;
    if (!told && failed === undefined) log.warn({ directory }, "another agent has STATE_DIR; waiting for its end");
    if (!told && failed !== undefined)
      log.warn({ code: STATE_DIR, directory, why: failed }, "STATE_DIR cannot be locked now; trying again");
    if (elapsed(from, clock.monotonic()) >= PATIENCE) {
      if (failed !== undefined) throw new CodedError(STATE_DIR, `STATE_DIR=${directory} cannot be locked: ${failed}`);
      const what = `another agent is running with STATE_DIR=${directory}`;
      throw new JoulieError("JOULIE_E_CONFIG_VALUE", `${what}: stop it, or give this one a directory of its own`);
    }
    await clock.sleep(PAUSE, signal);
  }
}

/** What passes: to go on without a lock now would mean to have none when the folder can be written again. */
const PASSING: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EIO", "ENOSPC", "EDQUOT"]);

interface TriedLock {
  /** Absent where an agent that lives has it, and where it failed. */
  readonly lock?: FolderLock | undefined;
  /** Why it cannot be told now whether another agent has it. */
  readonly failed?: string;
}

/** A folder that can hold no lock, such as one that is read-only, is no reason not to go on. */
export async function tryLock(directory: string, onProblem: (why: string) => void): Promise<TriedLock> {
  try {
    return { lock: await lockFolder(directory) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (PASSING.has(code)) return { failed: message };
    onProblem(message);
    return { lock: NO_LOCK };
  }
}
