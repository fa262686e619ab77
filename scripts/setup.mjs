// `node scripts/setup.mjs NAME.ts [ARGUMENT…]` makes a fresh clone ready, then runs scripts/NAME.ts on Node 24.
// Plain JavaScript with no dependency: it runs before `npm install`, on whatever Node the machine has (18 or newer).
import { spawnSync } from "node:child_process";
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
  // npm itself runs on the machine's Node, which may be older than ours: its engine warnings would only alarm.
  const install = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (install.status !== 0) {
    console.error(
      "joulie: npm ci failed (its message is above); check the network and the npm registry settings, then run again",
    );
    process.exit(install.status ?? 1);
  }
  const now = new Date();
  utimesSync(installed, now, now);
}

const node = findNode(root);
if (node === undefined) {
  console.error(noNodeMessage());
  process.exit(2);
}
const [script, ...rest] = process.argv.slice(2);
if (script === undefined) {
  console.error("joulie: usage: node scripts/setup.mjs NAME.ts [ARGUMENT…]");
  process.exit(2);
}
const path = `${dirname(node)}:${join(root, "node_modules", ".bin")}:${process.env["PATH"] ?? ""}`;
const run = spawnSync(node, [join(root, "scripts", script), ...rest], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, PATH: path },
});
process.exit(run.status ?? 1);
