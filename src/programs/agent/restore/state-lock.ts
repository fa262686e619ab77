import { CodedError, type ErrorCode, JoulieError } from "../../../core/api/index.ts";
import { elapsed, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type FolderLock, lockFolder } from "../../../platform/lock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";

/** A stopping agent takes up to 30 s. */
const LOCK_TIMEOUT = milliseconds(40_000);
const STATE_DIR: ErrorCode = "JOULIE_E_STATE_DIR";
const PAUSE = milliseconds(500);

const NO_LOCK: FolderLock = { release: async () => undefined };

/** Locks STATE_DIR: two agents that share a journal would lose original limits. Waits for an agent that is stopping. */
export async function lockState(
  directory: string,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<FolderLock> {
  const from = clock.monotonic();
  for (let logged = false; ; logged = true) {
    const tried = await tryLock(directory, (why) =>
      log.warn({ code: STATE_DIR, directory, why }, "STATE_DIR cannot be locked"),
    );
    if (tried.lock !== undefined) return tried.lock;
    const { failed } = tried;
    if (!logged && failed === undefined)
      log.warn({ directory }, "another agent has locked STATE_DIR; waiting for it to exit");
    if (!logged && failed !== undefined)
      log.warn({ code: STATE_DIR, directory, why: failed }, "cannot lock STATE_DIR now; retrying");
    if (elapsed(from, clock.monotonic()) >= LOCK_TIMEOUT) {
      if (failed !== undefined) throw new CodedError(STATE_DIR, `STATE_DIR=${directory} cannot be locked: ${failed}`);
      const what = `another agent is running with STATE_DIR=${directory}`;
      throw new JoulieError("JOULIE_E_CONFIG_VALUE", `${what}: stop it, or give this one a directory of its own`);
    }
    await clock.sleep(PAUSE, signal);
  }
}

/** Temporary errors. The agent must not start without a lock, because the directory may become writable later. */
const TEMPORARY_ERRORS: ReadonlySet<unknown> = new Set([
  "EMFILE",
  "ENFILE",
  "ENOMEM",
  "EAGAIN",
  "EIO",
  "ENOSPC",
  "EDQUOT",
]);

interface TriedLock {
  /** Absent if a running agent holds the lock, or if locking failed. */
  readonly lock?: FolderLock | undefined;
  readonly failed?: string;
}

/** Tries to lock. A directory that cannot hold a lock, such as a read-only one, is reported and not an error. */
export async function tryLock(directory: string, onProblem: (why: string) => void): Promise<TriedLock> {
  try {
    return { lock: await lockFolder(directory) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (TEMPORARY_ERRORS.has(code)) return { failed: message };
    onProblem(message);
    return { lock: NO_LOCK };
  }
}
