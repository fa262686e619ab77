import { printable } from "../log/index.ts";

const MAX_CLOCK_SLIPS = 2;

/** In a name of this length two edits anywhere count as a typo; no other program has a variable so similar. */
const LONG_NAME = 12;
/** In a shorter name, two edits within a word this short make another word: JOB_NAME, NODE_HOME and CACHE_URL are no typos. */
const SHORT_WORD = 4;

/** Similar names that other programs, charts and pipelines set. */
const othersOwn: ReadonlySet<string> = new Set([
  "BASE_NAME",
  "CODE_NAME",
  "DATE_DIR",
  "LEADER_NAME",
  "PROD_NAME",
  "RELEASE_NAME",
  "STAGE_DIR",
  "START_DIR",
  "STATIC_DIR",
  "STATS_DIR",
  "STATUS_DIR",
  "STORE_DIR",
  "TARGET_BASE",
  "TARGET_RELEASE",
]);

/** Kubernetes sets these in every pod for every Service of its namespace. */
const isServiceVariable = (name: string): boolean => name.includes("_SERVICE_") || name.includes("_PORT");

/**
 * Returns one warning for each unknown variable of the environment that looks like a typo of one of `own`. `known` contains the
 * variables of all programs, because programs may share a ConfigMap.
 */
export function misspeltVariableWarnings(
  environment: Iterable<string>,
  own: readonly string[],
  known: ReadonlySet<string>,
): string[] {
  const warnings = [];
  for (const name of environment) {
    if (known.has(name) || othersOwn.has(name) || isServiceVariable(name)) continue;
    const meant = nearest(name.toUpperCase(), own);
    if (meant !== undefined)
      warnings.push(`${printable(name)} is not a variable of Joulie and has no effect; did you mean ${meant}?`);
  }
  return warnings;
}

function nearest(name: string, own: readonly string[]): string | undefined {
  let best: { name: string; slips: number } | undefined;
  for (const candidate of own) {
    const most = best === undefined ? MAX_CLOCK_SLIPS : best.slips - 1;
    if (Math.abs(candidate.length - name.length) > most) continue;
    const slips = editDistance(name, candidate);
    if (slips <= most && !isOtherWord(name, candidate)) best = { name: candidate, slips };
  }
  return best?.name;
}

function isOtherWord(name: string, candidate: string): boolean {
  if (candidate.length >= LONG_NAME) return false;
  const written = name.split("_");
  const words = candidate.split("_");
  if (words.length !== written.length) return false;
  return words.some((word, at) => word.length <= SHORT_WORD && editDistance(word, written[at] ?? "") > 1);
}

/** Damerau's edit distance (optimal string alignment): insertions, deletions, substitutions and swaps of neighbours. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let slips = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) slips = Math.min(slips, (beforeLast[column - 2] ?? 0) + 1);
      current.push(slips);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
