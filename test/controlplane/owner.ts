// Identifies the process that created a file. A pid is not enough: pids are reused, and containers may share a folder.
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

const read = (look: () => string): string => {
  try {
    return look();
  } catch {
    return "";
  }
};

/** The scope in which a pid is unique: this boot and this container, or the host name without /proc. */
const here = createHash("sha256")
  .update(
    JSON.stringify([
      hostname(),
      read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
      read(() => readlinkSync("/proc/self/ns/pid")),
    ]),
  )
  .digest("hex")
  .slice(0, 12);

/** The fields of a process from its state on. The preceding name may contain any character, even ")". */
function statOf(pid: number): readonly string[] {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** The start time of a process in kernel ticks; "0" if unknown. */
const startOf = (pid: number): string => statOf(pid)[19] || "0";

/** `PID-PLACE-START`: identifies this process uniquely. */
export const ownerMark = (pid: number = process.pid): string => `${pid}-${here}-${startOf(pid)}`;

/**
 * Whether the owner at the start of a text has exited; undefined if it belongs to another machine or container. Old marks
 * contain only a pid, which is checked on this machine.
 */
export function isGone(text: string): boolean | undefined {
  const [pid, place, start] = text.split("-");
  if (!(Number(pid) > 0)) return true;
  if (place !== undefined && place !== here) return undefined;
  return !isAlive(Number(pid)) || (place !== undefined && start !== startOf(Number(pid)));
}

/** A process that ended is not alive, also if its parent never asks how it ended. */
export function isAlive(pid: number): boolean {
  if (!(pid > 0) || statOf(pid)[0] === "Z") return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
