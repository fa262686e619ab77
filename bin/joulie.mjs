#!/usr/bin/env node
// Starts on any Node >= 18, finds Node 24 and runs the bundle, or the sources when they are the newer truth.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findNode, isNewEnough, noNodeMessage } from "./node24.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// A checkout has src/ and runs it, so that an old bundle never hides an edit; an installed package has dist/ alone.
const source = join(root, "src", "main.ts");
const entry = existsSync(source) ? source : join(root, "dist", "joulie.mjs");

if (isNewEnough(process.versions.node)) {
  try {
    await import(pathToFileURL(entry).href);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    console.error(
      `joulie: a part is missing (${error.message}); run "npm install" in ${root}, then again (JOULIE_E_INSTALLATION)`,
    );
    process.exit(2);
  }
} else {
  const node = findNode(root);
  if (node === undefined) {
    console.error(noNodeMessage());
    process.exit(2);
  }
  // Before the child starts, which may answer before this process goes on.
  // A terminal sends SIGINT and SIGHUP to the whole group, so the child has its own: here they must only not end us first.
  // Passed on as well, one Ctrl-C would count as two, and a second one means "now".
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  const child = spawn(node, [entry, ...process.argv.slice(2)], { stdio: "inherit" });
  child.on("error", (error) => {
    console.error(`joulie: could not start ${node}: ${error.message} (JOULIE_E_NODE_VERSION)`);
    process.exit(2);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}
