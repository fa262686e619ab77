import { existsSync } from "node:fs";
import process from "node:process";
import { run } from "./programs/cli/index.ts";
import { programs } from "./programs/index.ts";

let unread = false;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") {
    process.stderr.write(`joulie: could not write to standard output: ${error.message}\n`);
    process.exit(1);
  }
  // Each line that still comes fails anew.
  if (unread) return;
  unread = true;
  // A reader that closes early, such as `| head -1`, has seen enough: that is no fault. Whoever ends in good order on a
  // signal has something to put in order here, too.
  if (!process.emit("SIGTERM", "SIGTERM")) process.exit(0);
});
// Where nobody can be told, the exit code still tells.
process.stderr.on("error", () => {});

process.exitCode = await run(process.argv.slice(2), programs, {
  env: process.env,
  machine: { isTerminal: process.stdout.isTTY, exists: existsSync },
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
