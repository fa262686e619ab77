import { abridged } from "../../core/units/index.ts";
import { errorMessage, TelemetryError } from "./errors.ts";

/** A placeholder in a URL or a PromQL query. */
export type Placeholder = "{node}" | "{zone}" | "{rack}";

/**
 * Fills a URL template. The value is escaped, so that it cannot leave its path segment or host label. A value of dots alone is
 * rejected, because `..` has no escaped form in a URL.
 */
export function fillUrl(template: string, placeholder: Placeholder, value: string): URL {
  const bad = (why: string, cause?: unknown) =>
    new TelemetryError("bad_url", `${JSON.stringify(abridged(value))} in ${placeholder} gives an invalid URL: ${why}`, {
      cause,
    });
  if (/^\.*$/.test(value)) throw bad("it is not a name");
  try {
    const escaped = encodeURIComponent(value);
    return new URL(template.replaceAll(placeholder, () => escaped));
  } catch (cause) {
    throw bad(errorMessage(cause), cause);
  }
}

/** Splits PromQL into quoted strings (three kinds of quotes), comments and the text between them. An unclosed quote is one piece. */
const PIECES = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|#[^\n]*|[^"'`#]+|./gsu;
const REGULAR_MATCHER = /[=!]~\s*$/;

/**
 * Fills a PromQL template for one zone or rack, so that a node label cannot widen the query. Within quotes the value is escaped for
 * the string, and after `=~` also for regular expressions. Outside of quotes (`rack_{rack}_watts`) characters that a metric name
 * cannot contain become `_`.
 */
export function fillPromql(template: string, placeholder: Placeholder, value: string): string {
  let before = "";
  let filled = "";
  for (const [piece] of template.matchAll(PIECES)) {
    filled += piece.includes(placeholder) ? fillPiece(piece, placeholder, value, REGULAR_MATCHER.test(before)) : piece;
    before = piece;
  }
  return filled;
}

function fillPiece(piece: string, placeholder: Placeholder, value: string, regular: boolean): string {
  const quote = piece[0] ?? "";
  const literal = regular ? value.replace(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`) : value;
  const fill = (text: string, replacement: string) => text.replaceAll(placeholder, () => replacement);
  // Backquoted strings have no escapes, so they become double-quoted.
  if (quote === "`" && piece.length > 1) return `"${escaped(fill(piece.slice(1, -1), literal), '"')}"`;
  if ((quote === '"' || quote === "'") && piece.length > 1) return fill(piece, escaped(literal, quote));
  return fill(piece, value.replace(/[^A-Za-z0-9_:]/g, "_"));
}

const escaped = (text: string, quote: string): string =>
  text.replace(/["'\\\n]/g, (sign) => {
    if (sign === "\n") return String.raw`\n`;
    return sign === "\\" || sign === quote ? `\\${sign}` : sign;
  });

export const UNION_LABEL = "joulie_part";

/**
 * Combines queries into one. Each result carries the index of its query in the label `joulie_part`. This works for any expression
 * that returns a vector, even without labels. A newline follows each expression, because it may end in a comment.
 */
export const unionOf = (expressions: readonly string[]): string =>
  expressions.map((one, index) => `label_replace((${one}\n), "${UNION_LABEL}", "${index}", "", "")`).join(" or ");
