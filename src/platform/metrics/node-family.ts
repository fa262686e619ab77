import type { CounterDefinition, GaugeDefinition, MetricDefinition, StatesDefinition } from "./definition.ts";
import { escapeLabelValue } from "./exposition.ts";
import { NodeColumn } from "./node-column.ts";
import type { NodeRow } from "./node-rows.ts";

/** The labels of a metric besides `node`. */
type OtherLabels<Label extends string> = Readonly<Record<Exclude<Label, "node">, string>>;
/** The labels of a column as an argument; none if `node` is the only label. */
type LabelArguments<Label extends string> = [Exclude<Label, "node">] extends [never] ? [] : [OtherLabels<Label>];

/**
 * The columns of one metric, one per combination of the other labels, sorted by their text. A column is never removed, even if
 * it is empty, so the other labels must have few values.
 */
export class MetricColumns {
  readonly definition: MetricDefinition;
  readonly #slots: () => number;
  readonly #byLabels = new Map<string, NodeColumn>();
  #sorted: readonly NodeColumn[] = [];

  constructor(definition: MetricDefinition, slots: () => number) {
    this.definition = definition;
    this.#slots = slots;
  }

  /** Replaced and never modified, so that an incremental iteration sees each column once. */
  get inOrder(): readonly NodeColumn[] {
    return this.#sorted;
  }

  of(labels: Readonly<Record<string, string>>): NodeColumn {
    const [head, tail] = this.#around(labels);
    const key = head + tail;
    const known = this.#byLabels.get(key);
    if (known !== undefined) return known;
    const column = new NodeColumn(head, tail, this.#slots());
    this.#byLabels.set(key, column);
    this.#sorted = [...this.#byLabels].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sorted]) => sorted);
    return column;
  }

  clear(row: NodeRow): void {
    for (const column of this.#sorted) column.set(row, undefined);
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

  /** Retain the column for frequent values: then each one costs one array write. */
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
    if (!(count >= 0 && count < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`${this.#columns.definition.name} is a counter: it cannot add ${count}`);
    }
    const column = this.#columns.of(labels ?? {});
    column.set(row, (column.get(row) ?? 0) + count);
  }
}

/** The state of a node; see StatesDefinition. */
export class NodeStates<State extends string = string> {
  readonly #byState: ReadonlyMap<string, NodeColumn>;
  readonly #name: string;

  constructor(columns: MetricColumns, { name, labels, states }: StatesDefinition<string, State>) {
    const label = labels.find((other) => other !== "node") ?? "";
    this.#name = name;
    this.#byState = new Map(states.map((state) => [state, columns.of({ [label]: state })]));
  }

  /** undefined = unknown: no series. */
  set(row: NodeRow, state: State | undefined): void {
    if (state !== undefined && !this.#byState.has(state)) {
      throw new RangeError(
        `${this.#name} has no state ${JSON.stringify(state)}; it has ${[...this.#byState.keys()].join(", ")}`,
      );
    }
    for (const [other, column] of this.#byState) {
      column.set(row, state === undefined ? undefined : Number(other === state));
    }
  }
}

export type NodeMetricDefinition = GaugeDefinition | CounterDefinition | StatesDefinition;
