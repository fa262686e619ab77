import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../src/platform/clock/testing/index.ts";
import { isAlive } from "../test/controlplane/owner.ts";
import { endRun, processesOfRun } from "./run-processes.ts";

const runProcesses = JSON.stringify(join(import.meta.dirname, "run-processes.ts"));

it.skipIf(process.platform !== "linux")(
  "X-173 ends the processes of a run whose parents have ended, and no others, nor programs that clean up after it",
  async () => {
    // The run's child starts a process in a session of its own, and ends.
    const orphan =
      "require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref()";
    const script = `
      import { execFileSync, spawn } from "node:child_process";
      import { endRun, leaveRun, nameRun, processesOfRun } from ${runProcesses};
      const name = nameRun();
      execFileSync(process.execPath, ["-e", ${JSON.stringify(orphan)}]);
      const [orphan] = processesOfRun(name);
      await endRun(name);
      leaveRun();
      const cleaner = spawn("sleep", ["1000"], { stdio: "ignore" });
      console.log(orphan, processesOfRun(name).length);
      cleaner.kill("SIGKILL");`;
    const other = spawn("sleep", ["1000"], { stdio: "ignore" });
    onTestFinished(() => void other.kill("SIGKILL"));
    const run = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(run.stdout, "data")) as [Buffer];
    const [orphanPid = 0, left] = line.toString().trim().split(" ").map(Number);
    expect(orphanPid).toBeGreaterThan(0);
    expect(left).toBe(0);
    expect(processesOfRun("another run")).toEqual([]);
    await eventually(() => !isAlive(orphanPid));
    expect(isAlive(other.pid ?? 0)).toBe(true);
  },
);

it.skipIf(process.platform !== "linux")(
  "X-173 waits for a process that has lost its environment until it has ended",
  async () => {
    const name = randomUUID();
    // At the first signal it becomes a program without the variable, as a process that ends has none.
    const child = spawn("sh", ["-c", "trap 'exec env -i cat' TERM; echo ready; while read line; do :; done"], {
      env: { ...process.env, JOULIE_TEST_RUN: name },
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    await endRun(name, (pid) => process.kill(pid, processesOfRun(name).length > 0 ? "SIGTERM" : "SIGKILL"));
    expect(isAlive(child.pid ?? 0)).toBe(false);
  },
);
