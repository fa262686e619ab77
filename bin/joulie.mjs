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
  await import(pathToFileURL(entry).href);
} else {
  const node = findNode(root);
  if (node === undefined) {
    console.error(noNodeMessage());
    process.exit(2);
  }
  const child = spawn(node, [entry, ...process.argv.slice(2)], { stdio: "inherit" });
  /** @type {NodeJS.Signals[]} */
  const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of passedOn) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`joulie: could not start ${node}: ${error.message}`);
    process.exit(2);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}
