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

const MAX_QUERY_LENGTH = 4096;
const MATCHER = /\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/suy;
const SELECTOR = /^\s*([a-zA-Z_:][\w:]*)\s*(?:\{(.*)\}\s*)?$/su;

/** Evaluates the subset of PromQL that Joulie's operator uses for a site: a metric, with matchers of equal labels or without. */
export function runQuery(query: string, metrics: QueryableMetrics): readonly Selected[] {
  const [, name, text = ""] = SELECTOR.exec(query.slice(0, MAX_QUERY_LENGTH)) ?? [];
  if (name === undefined) throw unsupported(query);
  const matchers: (readonly [label: string, value: string])[] = [];
  MATCHER.lastIndex = 0;
  while (MATCHER.lastIndex < text.trimEnd().length) {
    const [, label, value = ""] = MATCHER.exec(text) ?? [];
    if (label === undefined) throw unsupported(query);
    matchers.push([label, value.replace(/\\(.)/gs, (_, sign: string) => (sign === "n" ? "\n" : sign))]);
  }
  const generate = Object.hasOwn(metrics, name) ? metrics[name] : undefined;
  const series = Array.from(generate?.() ?? []);
  const selected = series.filter(({ labels }) => matchers.every(([label, value]) => labelOf(labels, label) === value));
  return selected.map(({ labels, value }) => ({ name, labels, value }));
}

/** A missing label is empty. */
const labelOf = (labels: Series["labels"], label: string): string =>
  Object.hasOwn(labels, label) ? (labels[label] ?? "") : "";

const unsupported = (query: string): QueryError =>
  new QueryError(`${JSON.stringify(query.slice(0, 80))} is not supported; ask for NAME or NAME{label="value"}`);
