// A run of the tests that is interrupted while pods run. The run is one of this file: a variable makes it hold a pod.
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFailed } from "vitest";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { folderPrefix, mountsUnder, processesOf } from "./leftovers.ts";

const HOLD = "JOULIE_TEST_HOLDS_A_POD";
const root = join(import.meta.dirname, "../..");

describe("an interrupted run of the tests", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("X-173 leaves nothing behind after %s", async (signal) => {
    if (process.env[HOLD] !== undefined) return holdPod();
    const before = nodeFolders();
    const run = spawn(
      process.execPath,
      ["scripts/setup.mjs", "test.ts", "node", "test/realnode/interrupted-run.test.ts"],
      {
        cwd: root,
        env: { ...process.env, [HOLD]: "1" },
        // A group of its own, as a shell starts it.
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    let output = "";
    onTestFailed(() => void process.stderr.write(output));
    for (const stream of [run.stdout, run.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => run.once("exit", resolve));
    const path = await eventually(
      () => {
        if (run.exitCode !== null) throw new Error(`the run ended before its pod ran: ${output}`);
        return new RegExp(`\\S*${folderPrefix}\\S+(?=\\s)`).exec(output)?.[0];
      },
      { boundMs: 400_000 },
    );
    expect(processesOf(path).length).toBeGreaterThan(5);
    if (signal === "SIGINT") process.kill(-(run.pid ?? 0), signal);
    else run.kill(signal);
    expect(await ended).toBe(1);
    expect(output).toContain("interrupted: ending the tests");

    expect(processesOf(path)).toEqual([]);
    expect(mountsUnder(path)).toEqual([]);
    expect(existsSync(`/var/run/netns/${path.split("/").at(-1)}`)).toBe(false);
    expect(nodeFolders()).toEqual(before);
    expect(cgroupsOfPods()).toEqual([]);
  });
});

/** In the run that is interrupted. */
async function holdPod(): Promise<void> {
  await import("./run-one-pod.ts");
  await new Promise(() => undefined);
}

const nodeFolders = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith(folderPrefix));
const cgroupsOfPods = (): readonly string[] =>
  ["/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/cpu/kubepods"].filter((path) => existsSync(path));
