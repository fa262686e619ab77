import type { CounterDefinition, GaugeDefinition, StatesDefinition } from "./definition.ts";
import { headerOf } from "./exposition.ts";
import { MetricColumns, NodeCounter, NodeGauge, type NodeMetricDefinition, NodeStates } from "./node-family.ts";
import { type NodeRow, NodeRows } from "./node-rows.ts";

const FIRST_SLOTS = 64;
/** About a quarter of a millisecond of work. */
const ROWS_PER_CHUNK = 1000;

/**
 * The series of all nodes, as columns of numbers. prom-client stores an object per series and formats its labels at every
 * scrape: at 5,000 nodes with eight series each that blocks for 100 ms.
 *
 * A node that leaves loses its series; late writes have no effect. A missing value has no line. Metrics appear in the order of
 * their declaration, their series by the other labels and then by node name.
 */
export class NodeMetricTable {
  readonly #rows = new NodeRows();
  readonly #families: MetricColumns[] = [];
  readonly #claim: (name: string) => void;
  #slots = FIRST_SLOTS;

  /** `claim` throws if the name is already used on the same page. */
  constructor(claim: (name: string) => void = () => undefined) {
    this.#claim = claim;
  }

  gauge<Label extends string>(definition: GaugeDefinition<Label>): NodeGauge<Label> {
    return new NodeGauge(this.#declare(definition));
  }

  counter<Label extends string>(definition: CounterDefinition<Label>): NodeCounter<Label> {
    return new NodeCounter(this.#declare(definition));
  }

  states<State extends string>(definition: StatesDefinition<string, State>): NodeStates<State> {
    if (definition.labels.length !== 2) {
      throw new RangeError(`metric ${definition.name} must have exactly two labels: node and the state`);
    }
    return new NodeStates(this.#declare(definition), definition);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** The row of the node, if it exists. */
  row(name: string): NodeRow | undefined {
    return this.#rows.get(name);
  }

  /** The row of the node, created if needed. */
  join(name: string): NodeRow {
    const row = this.#rows.join(name);
    if (this.#rows.slots > this.#slots) {
      this.#slots = this.#rows.slots * 2;
      for (const column of this.#columns()) column.makeRoom(this.#slots);
    }
    return row;
  }

  /** Returns false if there is no such node. */
  leave(name: string): boolean {
    const slot = this.#rows.leave(name);
    if (slot === undefined) return false;
    for (const column of this.#columns()) column.empty(slot);
    return true;
  }

  /** Removes all other nodes. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const slot of this.#rows.leaveAllBut(names)) {
      for (const column of this.#columns()) column.empty(slot);
    }
  }

  /**
   * The page in pieces. The table may change between two pieces: every series still appears at most once, a node that left
   * disappears, and a new node appears in the next scrape.
   */
  *chunks(rowsPerChunk = ROWS_PER_CHUNK): Generator<string, void, undefined> {
    const rows = this.#rows.inOrder();
    for (const family of this.#families.slice()) {
      yield headerOf(family.definition);
      for (const column of family.inOrder) {
        for (let from = 0; from < rows.length; from += rowsPerChunk) {
          const lines = column.lines(rows, from, Math.min(rows.length, from + rowsPerChunk));
          if (lines !== "") yield lines;
        }
      }
    }
  }

  #declare(definition: NodeMetricDefinition): MetricColumns {
    if (!definition.labels.includes("node")) throw new RangeError(`metric ${definition.name} lacks the label node`);
    if (this.#families.some((other) => other.definition.name === definition.name)) {
      throw new RangeError(`metric ${definition.name} is declared twice`);
    }
    this.#claim(definition.name);
    const columns = new MetricColumns(definition, () => this.#slots);
    this.#families.push(columns);
    return columns;
  }

  *#columns() {
    for (const family of this.#families) yield* family.inOrder;
  }
}
