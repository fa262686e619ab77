import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { isGone, ownerMark } from "../test/controlplane/owner.ts";

/** All processes that a run of the tests starts inherit its name in this variable. */
const VARIABLE = "JOULIE_TEST_RUN";
const MAX_LOOKS = 300;

/** Gives a run a name. A run within a run bears both names. */
export function nameRun(): string {
  const name = randomUUID();
  process.env[VARIABLE] = [process.env[VARIABLE], name].filter((part) => part !== undefined).join("/");
  return name;
}

/** Processes that start from now on belong to no run: they clean up after it, and `endRun` does not end them. */
export function leaveRun(): void {
  delete process.env[VARIABLE];
}

/**
 * Processes of a run, also those whose parents have ended. Empty without /proc.
 * @public a script of its test imports it
 */
export function processesOfRun(name: string): number[] {
  return pids().filter((pid) =>
    environmentOf(pid).some((variable) => variable.startsWith(`${VARIABLE}=`) && variable.includes(name)),
  );
}

/**
 * Ends all processes of a run, also those that its processes start meanwhile. A process that is being ended has no
 * environment any more, but still holds files: it is known by its pid and start time.
 */
export async function endRun(name: string, end: (pid: number) => void = endIfThere): Promise<void> {
  const marks = new Map<number, string>();
  for (let look = 0; look < MAX_LOOKS; look++) {
    for (const pid of processesOfRun(name)) marks.set(pid, ownerMark(pid));
    const alive = [...marks].filter(([, mark]) => isGone(mark) === false);
    if (alive.length === 0) return;
    for (const [pid] of alive) end(pid);
    await pause(100);
  }
}

function pids(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid);
  } catch {
    return [];
  }
}

/** Empty if the process has just ended, or belongs to another user. */
function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
