// By their files: the index also loads default metrics, a push gateway, quantiles and Node's cluster, in every program.
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import Registry from "prom-client/lib/registry.js";
import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { CounterDefinition, GaugeDefinition, HistogramDefinition, MetricDefinition } from "./definition.ts";
import { EXPOSITION_TYPE, headerOf } from "./exposition.ts";
import { NodeMetricTable } from "./node-table.ts";

/** How long a scrape may hold the event loop before it lets others go first. */
const SLICE = milliseconds(2);

/** The page /metrics of one program: figures about the program in a registry of its own, and figures about nodes in a table. */
export class ProgramMetrics {
  readonly contentType = EXPOSITION_TYPE;
  readonly nodes = new NodeMetricTable((name) => this.#claim(name));
  readonly #registry = new Registry();
  readonly #names = new Set<string>();
  /** The text of each metric that is not about nodes, in the order in which they were declared. */
  readonly #own: (() => string | Promise<string>)[] = [];
  readonly #clock: Clock;

  /** Real time: a scrape waits for the machine, also where decisions run on virtual time. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  counter<Label extends string>(definition: CounterDefinition<Label>): Counter<Label> {
    return new Counter(this.#register(definition));
  }

  /** Without a value until it is set. */
  gauge<Label extends string>(definition: GaugeDefinition<Label>): Gauge<Label> {
    const gauge = new Gauge(this.#register(definition));
    // prom-client would tell 0 for what nobody has measured yet.
    if (definition.labels.length === 0) gauge.remove();
    return gauge;
  }

  histogram<Label extends string>(definition: HistogramDefinition<Label>): Histogram<Label> {
    return new Histogram({ ...this.#register(definition), buckets: [...definition.buckets] });
  }

  /** A value that is asked for at every scrape; what is no finite number is none now. */
  reading(definition: GaugeDefinition<never> | CounterDefinition<never>, read: () => number | undefined): void {
    this.#claim(definition.name);
    const header = headerOf(definition);
    this.#own.push(() => {
      const value = read();
      return value === undefined || !Number.isFinite(value) ? header : `${header}${definition.name} ${value}\n`;
    });
  }

  /** The page in pieces, with a pause for the event loop whenever a slice of time is over. */
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
