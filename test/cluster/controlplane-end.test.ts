// A control plane leaves nothing behind, whether it is stopped or its test process dies.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { isFree } from "../../src/platform/serve/listen.ts";
import { isAlive } from "../controlplane/build.ts";
import { removeFoldersOfTheDead, startControlPlane } from "../controlplane/harness.ts";

describe("a control plane that stops", () => {
  it("leaves no process, port or file, even with its storage frozen", async () => {
    const plane = await startControlPlane({ crds: false });
    const pids = [plane.etcd.pid, plane.apiserver.pid].map(Number);
    const port = Number(new URL(plane.server).port);
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(await isFree(port)).toBe(false);
    await plane.etcd.freeze();
    await plane.stop();
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(await isFree(port)).toBe(true);
    expect(existsSync(plane.admin.mount)).toBe(false);
    await plane.stop();
  });

  it("exits when the process that started it dies, even if it was frozen, and the next control plane removes its files", async () => {
    const harness = join(import.meta.dirname, "../controlplane/harness.ts");
    const script = `
      import { startControlPlane } from ${JSON.stringify(harness)};
      const plane = await startControlPlane({ crds: false });
      await plane.apiserver.freeze();
      console.log(JSON.stringify({ pids: [plane.etcd.pid, plane.apiserver.pid], mount: plane.admin.mount }));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { pids, mount } = await new Promise<{ pids: number[]; mount: string }>((resolve) =>
      child.stdout.once("data", (line: Buffer) => resolve(JSON.parse(line.toString()))),
    );
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(existsSync(mount)).toBe(true);
    child.kill("SIGKILL");
    await eventually(() => !pids.some(isAlive));
    // Another test file may have started a control plane meanwhile, which removes the folder as well.
    removeFoldersOfTheDead();
    expect(existsSync(mount)).toBe(false);
  });
});
