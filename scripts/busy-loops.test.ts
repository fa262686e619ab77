import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../src/platform/clock/testing/index.ts";
import { isAlive } from "../test/controlplane/owner.ts";

const busyLoops = JSON.stringify(join(import.meta.dirname, "busy-loops.ts"));

it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
  "X-172 busy loops end with the process that %s ends",
  async (signal) => {
    const script = `
    import { startBusyLoops } from ${busyLoops};
    console.log(startBusyLoops(2).join(" "));
    setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const loops = line.toString().trim().split(" ").map(Number);
    expect(loops.map(isAlive)).toEqual([true, true]);
    child.kill(signal);
    await once(child, "exit");
    await eventually(() => !loops.some(isAlive));
  },
);
