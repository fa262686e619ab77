// `node scripts/setup.mjs NAME.ts [ARGUMENT…]` makes a fresh clone ready, then runs scripts/NAME.ts on Node 24.
// Plain JavaScript with no dependency: it runs before `npm install`, on whatever Node the machine has (18 or newer).
import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode, noNodeMessage } from "../bin/node24.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const lock = join(root, "package-lock.json");
// npm writes this file last, so it is there only if the whole install went through.
const installed = join(root, "node_modules", ".package-lock.json");

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.error("joulie: installing dependencies (about 30 s the first time) …");
  // Not `npm ci`: it refuses a lock file made where some platform's optional binaries could not be had. `--no-save` leaves the
  // lock as it is, and its versions and checksums count. npm runs on the machine's own Node, whose age it would warn about.
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
// As bin/joulie.mjs does: a terminal tells the whole group, and only one who is told by name alone has to pass it on.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
process.on("SIGTERM", () => run.kill("SIGTERM"));
run.on("error", (error) => fail(`could not start ${node}: ${error.message}`));
run.on("exit", (code) => process.exit(code ?? 1));

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(`joulie: ${message}`);
  process.exit(2);
}
