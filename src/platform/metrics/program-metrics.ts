// Imported by file: the index also loads default metrics, the push gateway, summaries and Node's cluster module.
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import Registry from "prom-client/lib/registry.js";
import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { CounterDefinition, GaugeDefinition, HistogramDefinition, MetricDefinition } from "./definition.ts";
import { EXPOSITION_TYPE, headerOf } from "./exposition.ts";
import { NodeMetricTable } from "./node-table.ts";

/** How long a scrape may block the event loop before it yields. */
const SLICE = milliseconds(2);

/** The /metrics page of one program: program metrics in a registry, and node metrics in a table. */
export class ProgramMetrics {
  readonly contentType = EXPOSITION_TYPE;
  readonly nodes = new NodeMetricTable((name) => this.#claim(name));
  readonly #registry = new Registry();
  readonly #names = new Set<string>();
  /** The text of each program metric, in the order of their declaration. */
  readonly #own: (() => string | Promise<string>)[] = [];
  readonly #clock: Clock;

  /** Real time: a scrape measures real work, also if the program runs on virtual time. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  counter<Label extends string>(definition: CounterDefinition<Label>): Counter<Label> {
    return new Counter(this.#register(definition));
  }

  /** Has no value until it is set. */
  gauge<Label extends string>(definition: GaugeDefinition<Label>): Gauge<Label> {
    const gauge = new Gauge(this.#register(definition));
    // prom-client would report 0 before the first value.
    if (definition.labels.length === 0) gauge.remove();
    return gauge;
  }

  histogram<Label extends string>(definition: HistogramDefinition<Label>): Histogram<Label> {
    return new Histogram({ ...this.#register(definition), buckets: [...definition.buckets] });
  }

  /** A value that is read at every scrape; a value that is not finite is omitted. */
  reading(definition: GaugeDefinition<never> | CounterDefinition<never>, read: () => number | undefined): void {
    this.#claim(definition.name);
    const header = headerOf(definition);
    this.#own.push(() => {
      const value = read();
      return value === undefined || !Number.isFinite(value) ? header : `${header}${definition.name} ${value}\n`;
    });
  }

  /** The page in pieces; yields to the event loop after every time slice. */
  async *text(): AsyncGenerator<string, void, undefined> {
    let sliceEnd = this.#clock.monotonic() + SLICE;
    for await (const piece of this.#pieces()) {
      yield piece;
      if (this.#clock.monotonic() < sliceEnd) continue;
      await this.#clock.sleep(milliseconds(0));
      sliceEnd = this.#clock.monotonic() + SLICE;
    }
  }

  async *#pieces(): AsyncGenerator<string, void, undefined> {
    for (const text of this.#own) yield await text();
    yield* this.nodes.chunks();
  }

  #register<Label extends string>({ name, help, labels }: MetricDefinition & { readonly labels: readonly Label[] }) {
    this.#claim(name);
    this.#own.push(async () => `${await this.#registry.getSingleMetricAsString(name)}\n`);
    return { name, help, labelNames: [...labels], registers: [this.#registry] };
  }

  #claim(name: string): void {
    if (this.#names.has(name)) throw new RangeError(`metric ${name} is declared twice`);
    this.#names.add(name);
  }
}
