/** One series: labels without the name, and the value. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A query that is malformed or uses unsupported PromQL; the message explains which. */
export class QueryError extends Error {}

/** A label matcher. */
interface Matcher {
  readonly label: string;
  /** The only matching value, if there is exactly one. */
  readonly equals?: string;
  fits(text: string): boolean;
}
const SIGNS = new Set(["=", "!=", "=~", "!~"]);

/** A missing label is empty. */
function labelOf(name: string, labels: Series["labels"], label: string): string {
  if (label === "__name__") return name;
  return Object.hasOwn(labels, label) ? (labels[label] ?? "") : "";
}

function matcherOf(label: string, sign: string, text: string): Matcher {
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

/** Series by metric name, generated on demand. */
export type QueryableMetrics = Readonly<Record<string, () => Iterable<Series>>>;

export interface Selected extends Series {
  readonly name: string;
}

const TOKEN =
  /\s*(?:#[^\n]*(?:\n|$)\s*)*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|([a-zA-Z_:][\w:]*)|(=~|!~|!=|=|[(){},])|(\S)|$)/suy;
const MAX_QUERY_LENGTH = 200_000;
const DEEPEST = 8;
/** Maximum number of series visits per query, because the event loop is blocked meanwhile. */
const MAX_LOOKS = 200_000;

interface Token {
  readonly kind: "text" | "word" | "sign" | "end";
  readonly text: string;
}

/**
 * Evaluates the subset of PromQL that Joulie's clients use: metrics with matchers, `or`, parentheses, and
 * `label_replace` with a constant. A regular expression may only be a list of words separated by |.
 */
export function runQuery(query: string, families: QueryableMetrics): readonly Selected[] {
  if (query.length > MAX_QUERY_LENGTH) throw new QueryError(`the query is longer than ${MAX_QUERY_LENGTH} characters`);
  const parser = new Parser(tokens(query), families);
  return parser.whole();
}

function tokens(query: string): readonly Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  for (;;) {
    const [, text, word, sign, other] = TOKEN.exec(query) ?? [];
    if (text !== undefined) found.push({ kind: "text", text: unquoted(text) });
    else if (word !== undefined) found.push({ kind: "word", text: word });
    else if (sign !== undefined) found.push({ kind: "sign", text: sign });
    else if (other !== undefined) throw new QueryError(`${JSON.stringify(other)} is not supported`);
    else return found;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
const unquoted = (text: string): string =>
  text.startsWith("`")
    ? text.slice(1, -1)
    : text.slice(1, -1).replace(/\\(.)/gs, (_, sign: string) => ESCAPES[sign] ?? sign);

const END: Token = { kind: "end", text: "the end" };

class Parser {
  readonly #tokens: readonly Token[];
  readonly #families: QueryableMetrics;
  readonly #made = new Map<string, readonly Series[]>();
  readonly #indexes = new Map<string, ReadonlyMap<string, readonly Series[]>>();
  #at = 0;
  #looks = 0;

  constructor(found: readonly Token[], families: QueryableMetrics) {
    this.#tokens = found;
    this.#families = families;
  }

  whole(): readonly Selected[] {
    const result = this.#union(0);
    if (this.#peek().kind !== "end") throw this.#unexpected();
    return result;
  }

  #union(depth: number): readonly Selected[] {
    if (depth > DEEPEST) throw new QueryError("the query is nested too deeply");
    const first = this.#term(depth);
    if (!this.#isOr()) return first;
    // The right side adds only series that the left side does not have.
    const all = new Map<string, Selected>();
    const add = (more: readonly Selected[]): void => {
      this.#look(more.length);
      for (const one of more) {
        const id = identity(one);
        if (!all.has(id)) all.set(id, one);
      }
    };
    add(first);
    while (this.#isOr()) {
      this.#at++;
      add(this.#term(depth));
    }
    return [...all.values()];
  }

  #look(times: number): void {
    this.#looks += times;
    if (this.#looks > MAX_LOOKS)
      throw new QueryError(`the query reads more than ${MAX_LOOKS} series; query fewer at a time`);
  }

  #isOr(): boolean {
    const { kind, text } = this.#peek();
    return kind === "word" && text === "or";
  }

  #term(depth: number): readonly Selected[] {
    if (this.#takes("(")) {
      const inner = this.#union(depth + 1);
      this.#expect(")");
      return inner;
    }
    const token = this.#peek();
    if (token.kind === "word" && this.#tokens[this.#at + 1]?.text === "(") return this.#call(depth);
    return this.#selector();
  }

  #call(depth: number): readonly Selected[] {
    const { text: name } = this.#next();
    if (name !== "label_replace") throw new QueryError(`${name}() is not supported`);
    this.#expect("(");
    const inner = this.#union(depth + 1);
    const [label, value, source, pattern] = [this.#argument(), this.#argument(), this.#argument(), this.#argument()];
    this.#expect(")");
    if (source !== "" || pattern !== "") throw new QueryError("label_replace supports only constant values");
    this.#look(inner.length);
    return inner.map((one) => ({ ...one, labels: { ...one.labels, [label]: value } }));
  }

  #argument(): string {
    this.#expect(",");
    return this.#text();
  }

  #selector(): readonly Selected[] {
    const first = this.#peek();
    if (first.kind === "word") this.#at++;
    const matches = this.#takes("{") ? this.#matchers() : [];
    const names = first.kind === "word" ? [first.text] : Object.keys(this.#families);
    if (first.kind !== "word" && matches.length === 0) throw this.#unexpected();
    const found: Selected[] = [];
    for (const name of names) {
      if (!Object.hasOwn(this.#families, name)) continue;
      const candidates = this.#candidates(name, matches);
      this.#look(1 + candidates.length);
      for (const { labels, value } of candidates)
        if (matches.every((match) => match.fits(labelOf(name, labels, match.label))))
          found.push({ name, labels, value });
    }
    return found;
  }

  /** Series that may match. A union over a hundred racks looks up each rack by name. */
  #candidates(name: string, matches: readonly Matcher[]): readonly Series[] {
    const exact = matches.find(({ label, equals }) => equals !== undefined && label !== "__name__");
    if (exact?.equals === undefined) return this.#series(name);
    const key = `${name} ${exact.label}`;
    let index = this.#indexes.get(key);
    if (index === undefined) {
      const all = this.#series(name);
      this.#look(all.length);
      index = Map.groupBy(all, ({ labels }) => labelOf(name, labels, exact.label));
      this.#indexes.set(key, index);
    }
    return index.get(exact.equals) ?? [];
  }

  /** Cached per query: a union over a hundred racks names its metric a hundred times. */
  #series(name: string): readonly Series[] {
    const made = this.#made.get(name) ?? Array.from(this.#families[name]?.() ?? []);
    this.#made.set(name, made);
    return made;
  }

  #matchers(): readonly Matcher[] {
    const matchers: Matcher[] = [];
    while (!this.#takes("}")) {
      const { kind, text: label } = this.#next();
      const { text: sign } = this.#next();
      if (kind !== "word" || !SIGNS.has(sign)) throw this.#unexpected(-1);
      matchers.push(matcherOf(label, sign, this.#text()));
      if (!this.#takes(",") && this.#peek().text !== "}") throw this.#unexpected();
    }
    return matchers;
  }

  #text(): string {
    const token = this.#next();
    if (token.kind !== "text") throw this.#unexpected(-1);
    return token.text;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #takes(sign: string): boolean {
    const { kind, text } = this.#peek();
    if (kind !== "sign" || text !== sign) return false;
    this.#at++;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#takes(sign)) throw this.#unexpected();
  }

  #unexpected(back = 0): QueryError {
    const { text } = this.#tokens[this.#at + back] ?? END;
    return new QueryError(`${JSON.stringify(text)} is unexpected; only metric names with label matchers are supported`);
  }
}

const identity = ({ labels }: Selected): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
