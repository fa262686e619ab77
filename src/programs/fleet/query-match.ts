/** One series: labels without the name, and the value. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A query that is malformed or uses unsupported PromQL; the message explains which. */
export class QueryError extends Error {}

/** A label matcher. */
export interface Matcher {
  readonly label: string;
  /** The only matching value, if there is exactly one. */
  readonly equals?: string;
  fits(text: string): boolean;
}
export const SIGNS = new Set(["=", "!=", "=~", "!~"]);

/** A missing label is empty. */
export function labelOf(name: string, labels: Series["labels"], label: string): string {
  if (label === "__name__") return name;
  return Object.hasOwn(labels, label) ? (labels[label] ?? "") : "";
}

export function matcherOf(label: string, sign: string, text: string): Matcher {
  const words = new Set(sign.endsWith("~") ? alternatives(text) : [text]);
  const wanted = !sign.startsWith("!");
  return { label, ...(sign === "=" && { equals: text }), fits: (value) => words.has(value) === wanted };
}

/** Accepts literal alternatives only, because an arbitrary regular expression could block the event loop. */
function alternatives(pattern: string): readonly string[] {
  const words = [""];
  for (const [piece] of pattern.matchAll(/\\.|[^\\]|\\$/gsu)) {
    if (piece === "|") words.push("");
    else if (piece.length > 1 && piece.startsWith("\\") && SPECIAL.test(piece.slice(1)))
      words.push(`${words.pop()}${piece.slice(1)}`);
    else if (SPECIAL.test(piece))
      throw new QueryError(`=~ supports only literal words separated by |, not ${JSON.stringify(pattern)}`);
    else words.push(`${words.pop()}${piece}`);
  }
  return words;
}
const SPECIAL = /[\\.+*?()|[\]{}^$]/;
