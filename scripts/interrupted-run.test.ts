// A run of the tests that is interrupted. The run is one of this file: a variable makes it hold a process.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../src/platform/clock/testing/index.ts";
import { isAlive } from "../test/controlplane/owner.ts";

const { JOULIE_TEST_HOLDS: file } = process.env;
const root = join(import.meta.dirname, "..");

/** Ctrl-C signals every process of the group, and `kill` the run alone. */
const INTERRUPTIONS = [
  ["Ctrl-C", (run: number) => process.kill(-run, "SIGINT")],
  ["SIGTERM", (run: number) => process.kill(run, "SIGTERM")],
] as const;

it.skipIf(process.platform !== "linux").each(INTERRUPTIONS)(
  "X-173 %s ends what it started, and does not pass",
  async (_, interrupt) => {
    if (file !== undefined) return hold(file);
    const folder = mkdtempSync(join(tmpdir(), "joulie-interrupted-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const held = join(folder, "held");
    const run = spawn(
      process.execPath,
      ["scripts/setup.mjs", "test.ts", "unit", "scripts/interrupted-run.test.ts"],
      // A group of its own, as a shell starts it.
      {
        cwd: root,
        env: { ...process.env, JOULIE_TEST_HOLDS: held },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    let output = "";
    for (const stream of [run.stdout, run.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => run.once("close", resolve));
    const pid = await eventually(() => {
      if (run.exitCode !== null) throw new Error(`the run ended before it was interrupted: ${output}`);
      return textOf(held);
    });
    onTestFinished(() => void (isAlive(Number(pid)) && process.kill(Number(pid), "SIGKILL")));
    interrupt(run.pid ?? 0);
    expect(await ended).toBe(1);
    expect(isAlive(Number(pid))).toBe(false);
    expect(output).toContain("the run was interrupted before its end");
    expect(output).toMatch(/\n\d+ passed, [1-9]\d* failed\n$/);
  },
);

/** In the run that is interrupted: starts a process that outlives its parents. */
async function hold(path: string): Promise<void> {
  const { pid } = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
  writeFileSync(`${path}.new`, String(pid));
  renameSync(`${path}.new`, path);
  await new Promise(() => undefined);
}

/** Undefined while the run has not begun to hold. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
