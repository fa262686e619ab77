import { diff } from "node:util";

/** An object's kind and name, with the lines of its YAML. */
type Manifests = ReadonlyMap<string, readonly string[]>;

/**
 * How one rendering of the chart differs from another, object by object: lines that are only in the first begin with "-",
 * those only in the second with "+". The line above each change shows where it is.
 */
export function differences(from: string, to: string): string {
  const before = manifestsOf(from);
  const after = manifestsOf(to);
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((name) => ({ name, lines: changedLines(before.get(name) ?? [], after.get(name) ?? []) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ name, lines }) => `${[`# ${name}`, ...lines].join("\n")}\n`)
    .join("\n");
}

function manifestsOf(text: string): Manifests {
  const documents = text.split(/^---$/m).filter((document) => document.includes("\nkind: "));
  return new Map(
    documents.map((document) => {
      const kind = /^kind: (.*)$/m.exec(document)?.[1];
      const name = /^metadata:\n {2}name: (.*)$/m.exec(document)?.[1];
      return [`${kind} ${name}`, document.trim().split("\n")];
    }),
  );
}

function changedLines(from: readonly string[], to: readonly string[]): string[] {
  const changes = diff([...from], [...to]) as readonly (readonly [-1 | 0 | 1, string])[];
  return changes.flatMap(([change, line], index) => {
    if (change !== 0) return [`${change > 0 ? "-" : "+"}${line}`];
    const next = changes[index + 1]?.[0] ?? 0;
    return next === 0 ? [] : [` ${line}`];
  });
}
