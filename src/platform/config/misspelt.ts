import { printable } from "../log/index.ts";

/** A slip in a long name is a slip; a short name two letters away is most likely another program's own variable. */
const LONG_NAME = 12;
const TWO_SLIPS_FROM = 10;

/** Kubernetes sets these in every pod for every Service of its namespace. */
const isServiceVariable = (name: string): boolean => name.includes("_SERVICE_") || name.includes("_PORT");

/**
 * One warning for each variable of the environment that nobody knows and that looks like a slip for one of `own`.
 * `known` are the variables of every program: a ConfigMap shared by all programs is no slip.
 */
export function misspelt(environment: Iterable<string>, own: readonly string[], known: ReadonlySet<string>): string[] {
  const warnings = [];
  for (const name of environment) {
    if (known.has(name) || isServiceVariable(name)) continue;
    const meant = nearest(name.toUpperCase(), own);
    if (meant !== undefined)
      warnings.push(`${printable(name)} is not a variable of Joulie and has no effect; did you mean ${meant}?`);
  }
  return warnings;
}

function nearest(name: string, own: readonly string[]): string | undefined {
  let best: { name: string; slips: number } | undefined;
  for (const candidate of own) {
    if (candidate.length < LONG_NAME && candidate[0] !== name[0]) continue;
    const most = Math.min(candidate.length < TWO_SLIPS_FROM ? 1 : 2, (best?.slips ?? 3) - 1);
    if (Math.abs(candidate.length - name.length) > most) continue;
    const slips = slipsBetween(name, candidate);
    if (slips <= most) best = { name: candidate, slips };
  }
  return best?.name;
}

/** Damerau's edit distance (optimal string alignment): letters inserted, deleted, changed, or two neighbours swapped. */
export function slipsBetween(a: string, b: string): number {
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
