import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { cruise, type ICruiseOptions } from "dependency-cruiser";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";
import houseRules, { coreRooms } from "../../.dependency-cruiser.mjs";

export interface LayerReport {
  /** One sentence per violation. */
  readonly violations: readonly string[];
  /** Number of modules under src/ that the checker read. A checker that saw none would pass without proof. */
  readonly modulesSeen: number;
  /** TypeScript files under src/. */
  readonly files: number;
}

/** Every source file must be in a known folder. In other places its imports would not be checked. */
const KNOWN_PLACE = new RegExp(
  `^src/(core/(${coreRooms.flat().join("|")})/.+|(platform|programs)/[^/]+/.+|programs/[^/]+|main)\\.ts$`,
);

/** Checks the tree below `root` (with a `src/` folder) against the layer rules. */
export async function checkLayers(root: string): Promise<LayerReport> {
  const options: ICruiseOptions = {
    ...houseRules.options,
    baseDir: root,
    ruleSet: { forbidden: houseRules.forbidden },
    validate: true,
  };
  const { output } = await cruise(["src"], options, undefined, {
    tsConfig: extractTSConfig(join(import.meta.dirname, "../../tsconfig.json")),
  });
  if (typeof output === "string") throw new Error("dependency-cruiser answered with text instead of a result");
  const files = sourceFiles(join(root, "src"));
  const violations = output.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
  for (const file of files.map((path) => relative(root, path))) {
    if (!KNOWN_PLACE.test(file)) violations.push(`place-unknown: ${file} is in no room of the house`);
  }
  return {
    violations,
    modulesSeen: output.modules.filter((module) => module.source.startsWith("src/")).length,
    files: files.length,
  };
}

/** Lists all TypeScript files below a folder. */
export function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
