import type { CounterDefinition, GaugeDefinition, MetricDefinition, StatesDefinition } from "./definition.ts";
import { escapeLabelValue, headerOf } from "./exposition.ts";

/** The series of a node, by the index of their column. Writes to it after the node left have no effect. */
export interface NodeRow {
  readonly name: string;
  readonly series: (Series | undefined)[];
}

interface Series {
  /** The line up to its value. It never changes, so a scrape does not format labels. */
  readonly prefix: string;
  value: number;
}

/** About a quarter of a millisecond of work. */
const ROWS_PER_CHUNK = 1000;

/** One value per node under the same other labels. */
class NodeColumn {
  readonly #index: number;
  readonly #head: string;
  readonly #tail: string;

  /** A line is head, node name, tail, value. */
  constructor(index: number, head: string, tail: string) {
    this.#index = index;
    this.#head = head;
    this.#tail = tail;
  }

  get({ series }: NodeRow): number | undefined {
    return series[this.#index]?.value;
  }

  /** A value that is not finite counts as no value. */
  set({ name, series }: NodeRow, value: number | undefined): void {
    const known = series[this.#index];
    if (value === undefined || !Number.isFinite(value)) series[this.#index] = undefined;
    else if (known !== undefined) known.value = value;
    // join creates a flat string; + would leave a rope of three pieces that every scrape has to traverse.
    else series[this.#index] = { prefix: [this.#head, escapeLabelValue(name), this.#tail].join(""), value };
  }

  lines(rows: readonly NodeRow[], from: number, to: number): string {
    let text = "";
    for (let at = from; at < to; at++) {
      const series = rows[at]?.series[this.#index];
      if (series !== undefined) text += `${series.prefix}${series.value}\n`;
    }
    return text;
  }
}

/** The labels of a metric besides `node`. */
type OtherLabels<Label extends string> = Readonly<Record<Exclude<Label, "node">, string>>;
/** The labels of a column as an argument; none if `node` is the only label. */
type LabelArguments<Label extends string> = [Exclude<Label, "node">] extends [never] ? [] : [OtherLabels<Label>];

/** The columns of one metric, one per combination of the other labels. A column is never removed, even if empty. */
class MetricColumns {
  readonly definition: MetricDefinition;
  readonly #nextIndex: () => number;
  readonly #byLabels = new Map<string, NodeColumn>();
  /** Replaced and never modified, so that an incremental iteration sees each column once. */
  inOrder: readonly NodeColumn[] = [];

  constructor(definition: MetricDefinition, nextIndex: () => number) {
    this.definition = definition;
    this.#nextIndex = nextIndex;
  }

  of(labels: Readonly<Record<string, string>>): NodeColumn {
    const [head, tail] = this.#around(labels);
    const key = head + tail;
    const known = this.#byLabels.get(key);
    if (known !== undefined) return known;
    const column = new NodeColumn(this.#nextIndex(), head, tail);
    this.#byLabels.set(key, column);
    this.inOrder = [...this.#byLabels].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sorted]) => sorted);
    return column;
  }

  clear(row: NodeRow): void {
    for (const column of this.inOrder) column.set(row, undefined);
  }

  /** The text before the node name, and the text between it and the value. */
  #around(labels: Readonly<Record<string, string>>): [head: string, tail: string] {
    const { name, labels: names } = this.definition;
    const shown = names.map((label) =>
      label === "node" ? undefined : `${label}="${escapeLabelValue(labels[label] ?? "")}"`,
    );
    const at = shown.indexOf(undefined);
    const head = [...shown.slice(0, at), 'node="'].join(",");
    return [`${name}{${head}`, `${['"', ...shown.slice(at + 1)].join(",")}} `];
  }
}

/** A value that can go up and down. */
export class NodeGauge<Label extends string = string> {
  readonly #columns: MetricColumns;

  constructor(columns: MetricColumns) {
    this.#columns = columns;
  }

  /** Retain the column for frequent values: then its labels are not formatted again. */
  column(...[labels]: LabelArguments<Label>): Pick<NodeColumn, "get" | "set"> {
    return this.#columns.of(labels ?? {});
  }

  /** Removes all series of the node from this metric, for example before it moves to another zone. */
  clear(row: NodeRow): void {
    this.#columns.clear(row);
  }
}

/** Counts events of a node. The series starts with the first event; `add(row, 0)` starts it earlier. */
export class NodeCounter<Label extends string = string> {
  readonly #columns: MetricColumns;

  constructor(columns: MetricColumns) {
    this.#columns = columns;
  }

  add(row: NodeRow, count: number, ...[labels]: LabelArguments<Label>): void {
    const column = this.#columns.of(labels ?? {});
    column.set(row, (column.get(row) ?? 0) + count);
  }
}

/** The state of a node; see StatesDefinition. */
export class NodeStates<State extends string = string> {
  readonly #byState: ReadonlyMap<string, NodeColumn>;

  constructor(columns: MetricColumns, { labels, states }: StatesDefinition<string, State>) {
    const label = labels.find((other) => other !== "node") ?? "";
    this.#byState = new Map(states.map((state) => [state, columns.of({ [label]: state })]));
  }

  /** undefined = unknown: no series. */
  set(row: NodeRow, state: State | undefined): void {
    for (const [other, column] of this.#byState) {
      column.set(row, state === undefined ? undefined : Number(other === state));
    }
  }
}

/**
 * The series of all nodes. prom-client formats the labels of each series at every scrape: at 5,000 nodes with eight series each
 * that blocks for 100 ms.
 *
 * A node that leaves loses its series; late writes have no effect. A missing value has no line. Metrics appear in the order of
 * their declaration, their series by the other labels and then by when the node joined.
 */
export class NodeMetricTable {
  readonly #rows = new Map<string, NodeRow>();
  readonly #metrics: MetricColumns[] = [];
  readonly #claim: (name: string) => void;
  #columns = 0;

  /** `claim` throws if the name is already used on the same page. */
  constructor(claim: (name: string) => void) {
    this.#claim = claim;
  }

  gauge<Label extends string>(definition: GaugeDefinition<Label>): NodeGauge<Label> {
    return new NodeGauge(this.#declare(definition));
  }

  counter<Label extends string>(definition: CounterDefinition<Label>): NodeCounter<Label> {
    return new NodeCounter(this.#declare(definition));
  }

  /** The labels are `node` and the state. */
  states<State extends string>(definition: StatesDefinition<string, State>): NodeStates<State> {
    return new NodeStates(this.#declare(definition), definition);
  }

  /** The row of the node, if it exists. */
  row(name: string): NodeRow | undefined {
    return this.#rows.get(name);
  }

  /** The row of the node, created if needed. */
  join(name: string): NodeRow {
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const row = { name, series: [] };
    this.#rows.set(name, row);
    return row;
  }

  leave(name: string): void {
    this.#rows.delete(name);
  }

  /** Removes all other nodes. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#rows.keys()) if (!names.has(name)) this.leave(name);
  }

  /** The page in pieces. The table may change between two: every series still appears at most once. */
  *chunks(rowsPerChunk = ROWS_PER_CHUNK): Generator<string, void, undefined> {
    const rows = [...this.#rows.values()];
    for (const { definition, inOrder } of this.#metrics) {
      yield headerOf(definition);
      for (const column of inOrder) {
        for (let from = 0; from < rows.length; from += rowsPerChunk) {
          const lines = column.lines(rows, from, Math.min(rows.length, from + rowsPerChunk));
          if (lines !== "") yield lines;
        }
      }
    }
  }

  #declare(definition: GaugeDefinition | CounterDefinition | StatesDefinition): MetricColumns {
    this.#claim(definition.name);
    const columns = new MetricColumns(definition, () => this.#columns++);
    this.#metrics.push(columns);
    return columns;
  }
}
