// npm run requirements [-- ID|SECTION…]: lists ids of docs/requirements.md that no test names; fails if a test names
// an unknown id.
import { join } from "node:path";
import { surveyRequirements } from "./rules/ledger.ts";

const { required, tested, unknown } = surveyRequirements(join(import.meta.dirname, ".."));
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

const selected = [...required].filter(([id]) => isWanted(id));
const missing = selected.filter(([id]) => !tested.has(id));
for (const [id, text] of missing) console.log(`${id}: ${text}`);
console.log(
  `${selected.length - missing.length} of ${selected.length} requirements have a test, ${missing.length} have none`,
);
for (const place of unknown) console.error(`unknown id: ${place}`);
process.exit(unknown.length === 0 ? 0 : 1);
