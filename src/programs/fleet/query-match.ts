/** One series: its labels besides the name, and its value. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A query that cannot be read, or asks for more than this little of PromQL; the message says what. */
export class QueryError extends Error {}

/** A condition on one label. */
export interface Matcher {
  readonly label: string;
  /** The one text that fits, where there is only one. */
  readonly equals?: string;
  fits(text: string): boolean;
}
export const SIGNS = new Set(["=", "!=", "=~", "!~"]);

/** A label that is not there is empty. */
export function labelOf(name: string, labels: Series["labels"], label: string): string {
  if (label === "__name__") return name;
  return Object.hasOwn(labels, label) ? (labels[label] ?? "") : "";
}

export function matcherOf(label: string, sign: string, text: string): Matcher {
  const words = new Set(sign.endsWith("~") ? alternatives(text) : [text]);
  const wanted = !sign.startsWith("!");
  return { label, ...(sign === "=" && { equals: text }), fits: (value) => words.has(value) === wanted };
}

/** A pattern of somebody else's making could keep the event loop busy for ever, so only plain words are taken. */
function alternatives(pattern: string): readonly string[] {
  const words = [""];
  for (const [piece] of pattern.matchAll(/\\.|[^\\]|\\$/gsu)) {
    if (piece === "|") words.push("");
    else if (piece.length > 1 && piece.startsWith("\\") && SPECIAL.test(piece.slice(1)))
      words.push(`${words.pop()}${piece.slice(1)}`);
    else if (SPECIAL.test(piece))
      throw new QueryError(`=~ takes words with | between them, not ${JSON.stringify(pattern)}`);
    else words.push(`${words.pop()}${piece}`);
  }
  return words;
}
const SPECIAL = /[\\.+*?()|[\]{}^$]/;
