// npm run generate: writes all files derived from the code. scripts/generated.test.ts fails if one is outdated.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generatedFiles } from "./generated.ts";

const root = join(import.meta.dirname, "..");
for (const [path, text] of await generatedFiles()) {
  const file = join(root, path);
  if (readIfThere(file) === text) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`wrote ${path}`);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
