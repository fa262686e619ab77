// npm run mutation [-- FOLDER…]: mutates src/core and counts the mutants that no test detects.
// npm run mutation -- wiring [PROGRAM…]: hard-codes each read of each variable instead (scripts/mutation/wiring.ts).
// npm run mutation -- rbac [ROLE…]: takes away each right of each role instead (scripts/mutation/rbac.ts).
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { mutateRbac } from "./mutation/rbac.ts";
import { mutateWiring } from "./mutation/wiring.ts";

const root = join(import.meta.dirname, "..");
const [first, ...programs] = process.argv.slice(2);
if (first === "rbac") process.exit(await mutateRbac(programs));
if (first === "wiring") process.exit(await mutateWiring(programs));
const folders = process.argv.slice(2);
const missing = folders.filter((folder) => !existsSync(join(root, folder)));
if (missing.length > 0) {
  console.error(`joulie: there is no ${missing.join(", ")}; name folders such as src/core/policy`);
  process.exit(2);
}
const mutate = folders.flatMap((folder) => [`${folder}/**/*.ts`, `!${folder}/**/*.test.ts`, `!${folder}/**/index.ts`]);
const limits = mutate.length > 0 ? ["--mutate", mutate.join(",")] : [];
const { status } = spawnSync("stryker", ["run", "scripts/mutation/stryker.config.mjs", ...limits], {
  cwd: root,
  stdio: ["ignore", "inherit", "inherit"],
});
process.exit(status ?? 1);
