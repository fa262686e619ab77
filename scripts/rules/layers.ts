import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { cruise, type ICruiseOptions } from "dependency-cruiser";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";
import houseRules, { coreRooms } from "../../.dependency-cruiser.mjs";

export interface LayerReport {
  /** One sentence per violation. */
  readonly violations: readonly string[];
  /** Number of modules under src/ and web/src/ that the checker read. A checker that saw none would pass without proof. */
  readonly modulesSeen: number;
  /** TypeScript files there. */
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
  const page = existsSync(join(root, "web/src")) ? ["web/src"] : [];
  const { output } = await cruise(["src", ...page], options, undefined, {
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
    modulesSeen: output.modules.filter(({ source }) => /^(src|web\/src)\/.*\.tsx?$/.test(source)).length,
    files: files.length + page.flatMap((folder) => sourceFiles(join(root, folder))).length,
  };
}

/** Lists all TypeScript files below a folder. */
export function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
