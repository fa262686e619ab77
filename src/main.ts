import { existsSync } from "node:fs";
import process from "node:process";
import { milliseconds } from "./core/units/index.ts";
import { run } from "./programs/cli/index.ts";
import { programs } from "./programs/index.ts";

/** For what is still being written. */
const LINGERING = milliseconds(1000);

let unread = false;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  const left = error.code === "EPIPE" || (error.code === "EIO" && process.stdout.isTTY);
  if (!left) {
    process.stderr.write(`joulie: could not write to standard output: ${error.message} (JOULIE_E_OUTPUT)\n`);
    process.exit(1);
  }
  // Each line that still comes fails anew.
  if (unread) return;
  unread = true;
  // A reader that closes early, such as `| head -1`, has seen enough, and a terminal that was closed (EIO) shows nothing any
  // more: that is no fault. Whoever ends in good order on a signal has something to put in order here, too, and must not take
  // it for a second, impatient one: Ctrl-C ends both sides of a pipe.
  if (!process.emit("SIGHUP", "SIGHUP")) process.exit(0);
});
// Where nobody can be told, the exit code still tells.
process.stderr.on("error", () => {});

process.exitCode = await run(process.argv.slice(2), programs, {
  env: process.env,
  machine: { isTerminal: process.stdout.isTTY, exists: existsSync },
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
// The program has come to its end. A call into a driver that hangs would keep the process for ever.
const { systemClock } = await import("./platform/clock/index.ts");
systemClock.after(LINGERING, () => process.exit(), { background: true });
