import { existsSync } from "node:fs";
import process from "node:process";
import { run } from "./programs/cli/index.ts";
import { programs } from "./programs/index.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that closes early, such as `| head -1`, has seen enough: that is no fault.
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`joulie: could not write to standard output: ${error.message}\n`);
  process.exit(1);
});
// Where nobody can be told, the exit code still tells.
process.stderr.on("error", () => {});

process.exitCode = await run(process.argv.slice(2), programs, {
  env: process.env,
  machine: { isTerminal: process.stdout.isTTY, exists: existsSync },
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
