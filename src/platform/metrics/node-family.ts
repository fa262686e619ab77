import type { CounterDefinition, GaugeDefinition, MetricDefinition, StatesDefinition } from "./definition.ts";
import { escapeLabelValue } from "./exposition.ts";
import { NodeColumn } from "./node-column.ts";
import type { NodeRow } from "./node-rows.ts";

/** The labels of a metric beside `node`. */
type OtherLabels<Label extends string> = Readonly<Record<Exclude<Label, "node">, string>>;
/** A column's labels as an argument, which is not there when `node` is the only label. */
type LabelArguments<Label extends string> = [Exclude<Label, "node">] extends [never] ? [] : [OtherLabels<Label>];

/**
 * The columns of one metric, a column for each combination of the other labels, in order of their text. A column stays once it has been
 * asked for, even when it is empty: other labels must have few values.
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

  /** Replaced and never changed, so that one who walks it bit by bit sees each column once. */
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

  /** What stands before the node's name on a line, and what between it and the value. */
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

/** A value that goes up and down. */
export class NodeGauge<Label extends string = string> {
  readonly #columns: MetricColumns;

  constructor(columns: MetricColumns) {
    this.#columns = columns;
  }

  /** Keep it where values come often: then each costs one write to an array. */
  column(...[labels]: LabelArguments<Label>): Pick<NodeColumn, "get" | "set"> {
    return this.#columns.of(labels ?? {});
  }

  /** Takes all of the node's series of this metric away, for instance before those of other zones take their place. */
  clear(row: NodeRow): void {
    this.#columns.clear(row);
  }
}

/** How often something happened to a node. It begins with the first one; `add(row, 0)` begins it before. */
export class NodeCounter<Label extends string = string> {
  readonly #columns: MetricColumns;

  constructor(columns: MetricColumns) {
    this.#columns = columns;
  }

  add(row: NodeRow, count: number, ...[labels]: LabelArguments<Label>): void {
    if (!(count >= 0 && count < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`${this.#columns.definition.name} counts up: it cannot add ${count}`);
    }
    const column = this.#columns.of(labels ?? {});
    column.set(row, (column.get(row) ?? 0) + count);
  }
}

/** Which state a node is in; see StatesDefinition. */
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
