import { spawn } from "node:child_process";

/** Ends by itself soon after the process that started it has gone, even if that went before this loop ran. */
const LOOP = "while (process.ppid === Number(process.argv[1])) for (let i = 0; i < 1e6; i++);";

/** Starts processes that use as much processor time as they get. Returns their process ids. */
export function startBusyLoops(count: number): readonly number[] {
  return Array.from({ length: count }, () => {
    const child = spawn(process.execPath, ["-e", LOOP, String(process.pid)], { stdio: "ignore" });
    // They do not keep this process alive, and end with it.
    child.unref();
    process.once("exit", () => child.kill("SIGKILL"));
    return child.pid ?? 0;
  });
}
