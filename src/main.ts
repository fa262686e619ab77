import { existsSync } from "node:fs";
import process from "node:process";
import { run } from "./programs/cli/index.ts";
import { programs } from "./programs/index.ts";

process.exitCode = await run(process.argv.slice(2), programs, {
  env: process.env,
  machine: { isTerminal: process.stdout.isTTY, exists: existsSync },
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
