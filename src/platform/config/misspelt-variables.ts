import { printable } from "../log/index.ts";

/** Names that other programs, charts and pipelines set, one letter away from one of ours. */
const othersOwn: ReadonlySet<string> = new Set(["CODE_NAME", "PROD_NAME", "STAGE_DIR", "STATS_DIR"]);

/** Kubernetes sets these in every pod for every Service of its namespace. */
const isServiceVariable = (name: string): boolean => name.includes("_SERVICE_") || name.includes("_PORT");

/**
 * Returns one warning for each unknown variable of the environment that differs by one slip from one of `own`. `known` contains the
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
    const written = name.toUpperCase();
    const meant = own.find((candidate) => isSlip(written, candidate));
    if (meant !== undefined)
      warnings.push(`${printable(name)} is not a variable of Joulie and has no effect; did you mean ${meant}?`);
  }
  return warnings;
}

/** Whether at most one letter is missing, added or another one, or two neighbours are swapped. */
export function isSlip(written: string, name: string): boolean {
  let start = 0;
  while (start < name.length && written[start] === name[start]) start++;
  const rest = written.slice(start);
  const expected = name.slice(start);
  const [first = "", second = ""] = expected;
  return (
    rest === expected ||
    rest.slice(1) === expected.slice(1) ||
    rest === expected.slice(1) ||
    rest.slice(1) === expected ||
    rest === second + first + expected.slice(2)
  );
}
