/** One series: labels without the name, and the value. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Selected extends Series {
  readonly name: string;
}

/** Series by metric name, generated on demand. */
export type QueryableMetrics = Readonly<Record<string, () => Iterable<Series>>>;

/** A query that is malformed or uses unsupported PromQL; the message explains which. */
export class QueryError extends Error {}

/** Comments and blanks, then a text in quotes, a word, or a sign. */
const TOKEN = /(?:\s|#[^\n]*(?:\n|$))*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|[a-zA-Z_:][\w:]*|!=|[=(){},])/suy;
const BLANKS = /^(?:\s|#[^\n]*(?:\n|$))*/u;
/** Enough for a thousand racks. */
const MAX_QUERY_LENGTH = 200_000;
/** Maximum number of series visits per query, because the event loop is blocked meanwhile. */
const MAX_VISITS = 3_000_000;
const MAX_DEPTH = 8;

/**
 * Evaluates the subset of PromQL that Joulie's clients use: metrics with the matchers = and !=, `or`, parentheses, and
 * `label_replace` with a constant.
 */
export function runQuery(query: string, metrics: QueryableMetrics): readonly Selected[] {
  if (query.length > MAX_QUERY_LENGTH) throw new QueryError(`the query is longer than ${MAX_QUERY_LENGTH} characters`);
  return new Parser(tokensOf(query), metrics).whole();
}

function tokensOf(query: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  let end = 0;
  for (let match = TOKEN.exec(query); match !== null; match = TOKEN.exec(query)) {
    tokens.push(match[0].replace(BLANKS, ""));
    end = TOKEN.lastIndex;
  }
  const rest = query.slice(end).replace(BLANKS, "");
  if (rest !== "") throw new QueryError(`${JSON.stringify(rest.slice(0, 40))} is not supported`);
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

class Parser {
  readonly #tokens: readonly string[];
  readonly #metrics: QueryableMetrics;
  /** A union over a hundred racks names its metric a hundred times. */
  readonly #generated = new Map<string, readonly Series[]>();
  #position = 0;
  #visits = 0;

  constructor(tokens: readonly string[], metrics: QueryableMetrics) {
    this.#tokens = tokens;
    this.#metrics = metrics;
  }

  whole(): readonly Selected[] {
    const result = this.#union(0);
    if (this.#position < this.#tokens.length) throw this.#unexpected();
    return result;
  }

  /** The right side of `or` adds only series whose labels the left side does not have. */
  #union(depth: number): readonly Selected[] {
    if (depth > MAX_DEPTH) throw new QueryError("the query is nested too deeply");
    const first = this.#term(depth);
    if (this.#tokens[this.#position] !== "or") return first;
    const all = new Map(first.map((series) => [identityOf(series), series]));
    while (this.#takes("or"))
      for (const series of this.#term(depth)) {
        const identity = identityOf(series);
        if (!all.has(identity)) all.set(identity, series);
      }
    return Array.from(all.values());
  }

  #term(depth: number): readonly Selected[] {
    if (this.#takes("(")) {
      const inner = this.#union(depth + 1);
      this.#expect(")");
      return inner;
    }
    if (!this.#takes("label_replace")) return this.#selector();
    this.#expect("(");
    const inner = this.#union(depth + 1);
    const [label = "", value = "", source, pattern] = Array.from({ length: 4 }, () => {
      this.#expect(",");
      return this.#text();
    });
    this.#expect(")");
    if (source !== "" || pattern !== "") throw new QueryError("label_replace supports only constant values");
    return inner.map((series) => ({ ...series, labels: { ...series.labels, [label]: value } }));
  }

  #selector(): readonly Selected[] {
    const name = this.#word();
    let selected = this.#seriesOf(name);
    if (this.#takes("{")) {
      while (!this.#takes("}")) {
        const label = this.#word();
        const isWanted = !this.#takes("!=");
        if (isWanted) this.#expect("=");
        const value = this.#text();
        this.#visit(selected.length);
        selected = selected.filter(({ labels }) => (labelOf(labels, label) === value) === isWanted);
        if (!this.#takes(",") && this.#tokens[this.#position] !== "}") throw this.#unexpected();
      }
    }
    return selected.map((series) => ({ name, ...series }));
  }

  #seriesOf(name: string): readonly Series[] {
    const generate = Object.hasOwn(this.#metrics, name) ? this.#metrics[name] : undefined;
    const series = this.#generated.get(name) ?? Array.from(generate?.() ?? []);
    this.#generated.set(name, series);
    this.#visit(series.length);
    return series;
  }

  #visit(series: number): void {
    this.#visits += 1 + series;
    if (this.#visits > MAX_VISITS)
      throw new QueryError(`the query reads more than ${MAX_VISITS} series; query fewer at a time`);
  }

  #word(): string {
    const token = this.#tokens[this.#position] ?? "";
    if (!/^[a-zA-Z_:]/.test(token)) throw this.#unexpected();
    this.#position++;
    return token;
  }

  #text(): string {
    const token = this.#tokens[this.#position] ?? "";
    if (!/^["'`]/.test(token)) throw this.#unexpected();
    this.#position++;
    const text = token.slice(1, -1);
    return token.startsWith("`") ? text : text.replace(/\\(.)/gs, (_, sign: string) => ESCAPES[sign] ?? sign);
  }

  #takes(token: string): boolean {
    if (this.#tokens[this.#position] !== token) return false;
    this.#position++;
    return true;
  }

  #expect(token: string): void {
    if (!this.#takes(token)) throw this.#unexpected();
  }

  #unexpected(): QueryError {
    const token = this.#tokens[this.#position] ?? "the end";
    return new QueryError(
      `${JSON.stringify(token)} is unexpected; only metric names with label matchers are supported`,
    );
  }
}

/** A missing label is empty. */
const labelOf = (labels: Series["labels"], label: string): string =>
  Object.hasOwn(labels, label) ? (labels[label] ?? "") : "";

const identityOf = ({ labels }: Selected): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
