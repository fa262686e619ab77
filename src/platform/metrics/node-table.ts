import type { CounterDefinition, GaugeDefinition, StatesDefinition } from "./definition.ts";
import { headerOf } from "./exposition.ts";
import { MetricColumns, NodeCounter, NodeGauge, type NodeMetricDefinition, NodeStates } from "./node-family.ts";
import { type NodeRow, NodeRows } from "./node-rows.ts";

const FIRST_SLOTS = 64;
/** A quarter of a millisecond's work or so. */
const ROWS_PER_CHUNK = 1000;

/**
 * The series that every node has, as columns of numbers. prom-client keeps an object for each series and puts its labels together
 * anew at every scrape: at 5,000 nodes with eight series each that is 100 ms without a pause.
 *
 * A node that leaves takes its series with it; a write that arrives late changes nothing. What has no value has no line. Metrics come
 * in the order in which they were declared, their series in order of the other labels and then of the nodes' names.
 */
export class NodeMetricTable {
  readonly #rows = new NodeRows();
  readonly #families: MetricColumns[] = [];
  readonly #claim: (name: string) => void;
  #slots = FIRST_SLOTS;

  /** `claim` refuses names that are taken elsewhere on the same page. */
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
      throw new RangeError(`metric ${definition.name} has the labels node and one for the state, and no other`);
    }
    return new NodeStates(this.#declare(definition), definition);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** The node's row, if it is here. */
  row(name: string): NodeRow | undefined {
    return this.#rows.get(name);
  }

  /** The node's row, which is made if there is none. */
  join(name: string): NodeRow {
    const row = this.#rows.join(name);
    if (this.#rows.slots > this.#slots) {
      this.#slots = this.#rows.slots * 2;
      for (const column of this.#columns()) column.makeRoom(this.#slots);
    }
    return row;
  }

  /** False where there is no such node. */
  leave(name: string): boolean {
    const slot = this.#rows.leave(name);
    if (slot === undefined) return false;
    for (const column of this.#columns()) column.empty(slot);
    return true;
  }

  /** Every other node leaves. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const slot of this.#rows.leaveAllBut(names)) {
      for (const column of this.#columns()) column.empty(slot);
    }
  }

  /**
   * The page in pieces. Between two pieces anything may happen to the table: every series is still told at most once, a node that
   * left meanwhile is not told any more, and one that came is told the next time.
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
