import { existsSync } from "node:fs";
import process from "node:process";
import { milliseconds } from "./core/units/index.ts";
import { ask, run } from "./programs/cli/index.ts";
import { programs } from "./programs/index.ts";

/** Time for pending output before the process is ended. */
const LINGERING = milliseconds(1000);

let unread = false;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  const left = error.code === "EPIPE" || (error.code === "EIO" && process.stdout.isTTY);
  if (!left) {
    process.stderr.write(`joulie: could not write to standard output: ${error.message} (JOULIE_E_OUTPUT)\n`);
    process.exit(1);
  }
  // Each further line fails as well.
  if (unread) return;
  unread = true;
  // A reader that closes early, such as `| head -1`, and a closed terminal (EIO) are not errors. A program that cleans up on
  // a signal cleans up here as well. It does not count this as a second signal: Ctrl-C ends both sides of a pipe.
  if (!process.emit("SIGHUP", "SIGHUP")) process.exit(0);
});
// Without standard error, the exit code still reports the failure.
process.stderr.on("error", () => {});

process.exitCode = await run(process.argv.slice(2), programs, {
  env: process.env,
  machine: { isTerminal: process.stdout.isTTY, exists: existsSync },
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  columns: process.stdout.columns,
  ask: process.stdin.isTTY && process.stdout.isTTY ? ask : undefined,
});
// The program has ended. A hung driver call would otherwise keep the process alive.
const { systemClock } = await import("./platform/clock/index.ts");
systemClock.after(LINGERING, () => process.exit(), { background: true });
