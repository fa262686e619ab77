// Who made a file that others may find: a pid alone says little where pids come again and containers share a folder.
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

/** Where pids mean the same: this start of the machine, this container. Without /proc, this machine. */
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

/** When a process started, in the kernel's ticks; "0" when unknown. The name before it may hold anything, even ")". */
function startOf(pid: number): string {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] || "0";
}

/** `PID-PLACE-START`: this process and no other. */
export const ownerMark = (pid: number = process.pid): string => `${pid}-${here}-${startOf(pid)}`;

/**
 * Whether the owner a text begins with is gone; undefined if it runs on another machine or in another container. A pid alone, as marks
 * once were, is judged by itself.
 */
export function isGone(text: string): boolean | undefined {
  const [pid, place, start] = text.split("-");
  if (!(Number(pid) > 0)) return true;
  if (place !== undefined && place !== here) return undefined;
  return !isAlive(Number(pid)) || (place !== undefined && start !== startOf(Number(pid)));
}

export function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
