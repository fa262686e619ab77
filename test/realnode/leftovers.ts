// Removes what the programs of a node leave on the machine: shims, mounts, cgroups, links to logs.
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isGone } from "../controlplane/owner.ts";
import { run } from "./command.ts";

export const folderPrefix = "joulie-realnode-";

/** A killed test process takes its programs with it, but not containers, mounts and files. */
export async function removeDeadNodes(): Promise<void> {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(folderPrefix));
  const dead = folders.filter((name) => isGone(name.slice(folderPrefix.length)) === true);
  for (const name of dead) await removeTraces(join(tmpdir(), name));
}

/** Everything of a node whose programs have ended; the folder's name is the name of its network namespace. */
export async function removeTraces(folder: string): Promise<void> {
  await endProcesses(folder);
  // The innermost first; lazily, since a container that has just ended may still hold one.
  for (const mount of mountsUnder(folder).toReversed()) await run("umount", ["--lazy", mount]).catch(() => undefined);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  removeLogLinks(folder);
  removePodCgroups();
  const network = folder.slice(folder.lastIndexOf("/") + 1);
  if (existsSync(`/var/run/netns/${network}`)) await run("ip", ["netns", "delete", network]).catch(() => undefined);
}

/** Ends also those that start meanwhile: a containerd that is about to end may still start a shim. */
async function endProcesses(folder: string): Promise<void> {
  for (let look = 0; look < 600; look++) {
    const processes = processesOf(folder);
    if (processes.length === 0) return;
    for (const pid of processes) killIfThere(pid);
    await sleep(100);
  }
}

/**
 * The shims, which have the folder in their command line, and the containers, which are their children, or have their root below
 * the folder: a container outlives its shim.
 */
export function processesOf(folder: string): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const shims = all.filter((pid) => textOf(`/proc/${pid}/cmdline`).includes(folder));
  const parentOf = (pid: string) => /\) \S (\d+)/.exec(textOf(`/proc/${pid}/stat`))?.[1] ?? "";
  const hasRootBelow = (pid: string) =>
    textOf(`/proc/${pid}/mountinfo`)
      .split("\n")
      .some((line) => line.split(" ")[4] === "/" && line.includes(basename(folder)));
  return [...new Set([...shims, ...all.filter((pid) => shims.includes(parentOf(pid)) || hasRootBelow(pid))])].map(
    Number,
  );
}

/** Empty when the process has just ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

export function mountsUnder(folder: string): string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((mount) => mount.startsWith(`${folder}/`));
}

/** The kubelet links every container's log from a fixed folder. */
function removeLogLinks(folder: string): void {
  const links = "/var/log/containers";
  for (const name of existsSync(links) ? readdirSync(links) : []) {
    if (readlinkSync(join(links, name)).startsWith(folder)) rmSync(join(links, name));
  }
}

/** In every hierarchy of cgroup v1, or in the only one of v2. The machine has no other kubelet: requirements.ts checks it. */
function removePodCgroups(): void {
  const root = "/sys/fs/cgroup";
  for (const base of [root, ...folders(root)]) {
    if (existsSync(join(base, "kubepods"))) removeCgroup(join(base, "kubepods"));
  }
}

function removeCgroup(cgroup: string): void {
  for (const child of folders(cgroup)) removeCgroup(child);
  try {
    rmdirSync(cgroup);
  } catch (error) {
    if (!["ENOENT", "EBUSY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

const folders = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
