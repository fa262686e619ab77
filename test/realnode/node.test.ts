import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { mountsUnder, removeDeadNodes } from "./leftovers.ts";

describe("a run of these tests that was killed", () => {
  it("leaves nothing on the machine after the next start: no process, file, mount, network or cgroup", async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "run-one-pod.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const folder = await new Promise<string>((resolve, reject) => {
      child.stdout.once("data", (line: Buffer) => resolve(line.toString().trim()));
      child.once("exit", (code) => reject(new Error(`the node did not start: ${code}`)));
    });
    expect(processesWith(folder)).toContain("containerd-shim");
    child.kill("SIGKILL");
    await exited;
    // Its programs notice that their parent has gone.
    await eventually(() => processesWith(folder).every((name) => name === "containerd-shim"));
    expect(existsSync(folder)).toBe(true);

    await removeDeadNodes();
    expect(processesWith(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    expect(mountsUnder(folder)).toEqual([]);
    expect(existsSync(`/var/run/netns/${folder.split("/").at(-1)}`)).toBe(false);
    expect(readdirSync("/sys/fs/cgroup")).not.toContain("kubepods");
    expect(existsSync("/sys/fs/cgroup/cpu/kubepods")).toBe(false);
  });
});

/** Names of the processes that have the folder in their command line. */
function processesWith(folder: string): string[] {
  const read = (file: string) => {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/cmdline`).includes(folder))
    .map((pid) => read(`/proc/${pid}/comm`).trim());
}
