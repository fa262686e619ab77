// `node scripts/setup.mjs NAME.ts [ARGUMENT…]` prepares a fresh clone, then runs scripts/NAME.ts on Node 24. Plain
// JavaScript without dependencies: it runs before `npm install`, on any Node from version 18.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode, noNodeMessage } from "../bin/node24.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const lock = join(root, "package-lock.json");
// npm writes this file last, so it exists only after a complete install.
const installed = join(root, "node_modules", ".package-lock.json");

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.error("joulie: installing dependencies (about 30 s the first time) …");
  // Not `npm ci`: it rejects a lock file created where optional binaries of some platform were unavailable.
  // `--no-save` keeps the lock file, whose versions and checksums apply. npm runs on the machine's Node and would
  // warn about its age.
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  const install = spawnSync("npm", args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (install.error !== undefined) fail(`could not run npm (${install.error.message}); install npm, then run again`);
  if (install.status !== 0) fail(`npm ${args.join(" ")} failed; its message is above`);
  const now = new Date();
  utimesSync(installed, now, now);
}

const node = findNode(root);
if (node === undefined) {
  console.error(noNodeMessage());
  process.exit(2);
}
const [script, ...rest] = process.argv.slice(2);
if (script === undefined || !existsSync(join(root, "scripts", script))) {
  fail(`there is no scripts/${script ?? ""}; usage: node scripts/setup.mjs NAME.ts [ARGUMENT…]`);
}
const path = `${dirname(node)}:${join(root, "node_modules", ".bin")}:${process.env["PATH"] ?? ""}`;
const run = spawn(node, [join(root, "scripts", script), ...rest], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, PATH: path },
});
// As in bin/joulie.mjs: a terminal signals the whole group, so only a signal sent to this process alone must be
// forwarded.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
process.on("SIGTERM", () => run.kill("SIGTERM"));
run.on("error", (error) => fail(`could not start ${node}: ${error.message}`));
run.on("exit", (code) => process.exit(code ?? 1));

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(`joulie: ${message}`);
  process.exit(2);
}
