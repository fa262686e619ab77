import { abridged } from "../../core/units/index.ts";
import { errorMessage, TelemetryError } from "./errors.ts";

/** What a template may leave open. */
export type Placeholder = "{node}" | "{zone}" | "{rack}";

/**
 * An endpoint of a node. The name is escaped, so it cannot leave its place: not the path segment, not the host. A name of
 * dots alone would, for `..` has no escaped form that a URL respects.
 */
export function fillUrl(template: string, placeholder: Placeholder, value: string): URL {
  const bad = (why: string, cause?: unknown) =>
    new TelemetryError("bad_url", `${JSON.stringify(abridged(value))} in ${placeholder} makes no URL: ${why}`, {
      cause,
    });
  if (/^\.*$/.test(value)) throw bad("it is no name");
  try {
    const escaped = encodeURIComponent(value);
    return new URL(template.replaceAll(placeholder, () => escaped));
  } catch (cause) {
    throw bad(errorMessage(cause), cause);
  }
}

/** Strings in PromQL's three quotes, comments, and what lies between them; a quote without an end is a piece of its own. */
const PIECES = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|#[^\n]*|[^"'`#]+|./gsu;
const REGULAR_MATCHER = /[=!]~\s*$/;

/**
 * A query for one zone or rack. The value is escaped for where it stands: in a quoted string for that string, after `=~` for
 * regular expressions too, and outside of quotes (`rack_{rack}_watts`) as exporters make names, with `_` for what a name
 * cannot hold. So a label of a node can widen no query.
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
  const put = (text: string, what: string) => text.replaceAll(placeholder, () => what);
  // Nothing can be escaped between backquotes, so such a string becomes one that can.
  if (quote === "`" && piece.length > 1) return `"${escaped(put(piece.slice(1, -1), literal), '"')}"`;
  if ((quote === '"' || quote === "'") && piece.length > 1) return put(piece, escaped(literal, quote));
  return put(piece, value.replace(/[^A-Za-z0-9_:]/g, "_"));
}

const escaped = (text: string, quote: string): string =>
  text.replace(/["'\\\n]/g, (sign) => {
    if (sign === "\n") return String.raw`\n`;
    return sign === "\\" || sign === quote ? `\\${sign}` : sign;
  });

/** The label that tells the parts of a union apart. */
export const UNION_LABEL = "joulie_part";

/**
 * One query that answers many: the results of each carry their place in `joulie_part`. It works for any expression that
 * gives a vector, also one that sums its labels away. Each ends on a line of its own, as it may end in a comment.
 */
export const unionOf = (expressions: readonly string[]): string =>
  expressions.map((one, place) => `label_replace((${one}\n), "${UNION_LABEL}", "${place}", "", "")`).join(" or ");
