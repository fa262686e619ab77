// npm run requirements [-- ID|SECTION…]: ids of docs/requirements.md that no test names; fails if a test names an unknown one.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { sourceFiles } from "./rules/layers.ts";
import { ledger, namedIds } from "./rules/ledger.ts";

const root = join(import.meta.dirname, "..");
const required = ledger(readFileSync(join(root, "docs/requirements.md"), "utf8"));
const sections = new Set([...required.keys()].map((id) => id.split("-")[0] ?? ""));

const wanted = process.argv.slice(2);
const strangers = wanted.filter((word) => !required.has(word) && !sections.has(word));
if (strangers.length > 0) {
  console.error(
    `joulie: docs/requirements.md has no ${strangers.join(", ")}; sections are ${[...sections].join(", ")}`,
  );
  process.exit(2);
}
const isWanted = (id: string) => wanted.length === 0 || wanted.some((word) => id === word || id.startsWith(`${word}-`));

const tested = new Set<string>();
const unknown: string[] = [];
for (const file of ["src", "test", "scripts", "bench"].flatMap((folder) => sourceFiles(join(root, folder)))) {
  if (!file.endsWith(".test.ts")) continue;
  for (const { id, line } of namedIds(readFileSync(file, "utf8"), sections)) {
    if (required.has(id)) tested.add(id);
    else unknown.push(`${relative(root, file)}:${line}: ${id}`);
  }
}

const selected = [...required].filter(([id]) => isWanted(id));
const missing = selected.filter(([id]) => !tested.has(id));
for (const [id, text] of missing) console.log(`${id}: ${text}`);
console.log(
  `${selected.length - missing.length} of ${selected.length} requirements have a test, ${missing.length} have none`,
);
for (const place of unknown) console.error(`unknown id: ${place}`);
process.exit(unknown.length === 0 ? 0 : 1);
