/** Name, help text and labels of a metric: data, so that the reference page can list all of them. */
interface Described<Label extends string> {
  readonly name: string;
  /** One sentence: the meaning of the value and its unit. */
  readonly help: string;
  readonly labels: readonly Label[];
}

export interface GaugeDefinition<Label extends string = string> extends Described<Label> {
  readonly type: "gauge";
}

export interface CounterDefinition<Label extends string = string> extends Described<Label> {
  readonly type: "counter";
}

export interface HistogramDefinition<Label extends string = string> extends Described<Label> {
  readonly type: "histogram";
  /** Upper bounds of the buckets, ascending; +Inf is added. */
  readonly buckets: readonly number[];
}

/**
 * A state set as in OpenMetrics: one series per state under the last label, 1 for the current state and 0 for the others.
 * Prometheus treats it as a gauge. A single series with the current state would end at every change: `avg_over_time` could not
 * compute shares of time, `changes` would count nothing, and an alert on a state without members would have no data. If the
 * state is unknown, there is no series.
 */
export interface StatesDefinition<Label extends string = string, State extends string = string>
  extends Described<Label> {
  readonly type: "states";
  readonly states: readonly State[];
}

export type MetricDefinition = GaugeDefinition | CounterDefinition | HistogramDefinition | StatesDefinition;

const METRIC_NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
const LABEL_NAME = METRIC_NAME;
/** Prometheus adds these labels itself. */
const TAKEN_LABELS = new Set(["le", "quantile", "job", "instance"]);
/** Suffixes of the series of a histogram. */
const HISTOGRAM_SERIES = /_(bucket|sum|count)$/;

/** Returns a definition with its literal types. Throws if Prometheus would not accept it. */
export function metric<
  const Label extends string,
  const State extends string,
  const Definition extends
    | GaugeDefinition<Label>
    | CounterDefinition<Label>
    | HistogramDefinition<Label>
    | StatesDefinition<Label, State>,
>(definition: Definition): Definition {
  const problem = problemOf(definition);
  if (problem !== undefined) throw new RangeError(`metric ${JSON.stringify(definition.name)} ${problem}`);
  return definition;
}

export const gauge = <const Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
): GaugeDefinition<Label> => metric({ type: "gauge", name, help, labels });

export const counter = <const Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
): CounterDefinition<Label> => metric({ type: "counter", name, help, labels });

function problemOf(definition: MetricDefinition): string | undefined {
  const { name, help, type, labels } = definition;
  if (!METRIC_NAME.test(name)) return "must be lower case with single underscores";
  if ((type === "counter") !== name.endsWith("_total")) {
    return type === "counter" ? "is a counter and must end with _total" : "ends with _total but is not a counter";
  }
  if (HISTOGRAM_SERIES.test(name)) return "ends like a series of a histogram";
  if (help.trim() === "") return "has no help";
  const badLabel = labels.find((label) => !LABEL_NAME.test(label) || TAKEN_LABELS.has(label));
  if (badLabel !== undefined) return `cannot have the label ${JSON.stringify(badLabel)}`;
  if (new Set(labels).size < labels.length) return "has a duplicate label";
  if (type === "histogram" && !isRising(definition.buckets)) return "needs ascending buckets";
  if (type !== "states") return undefined;
  if (labels.length === 0) return "needs a label for its state";
  const { states } = definition;
  return states.length === 0 || new Set(states).size < states.length ? "needs distinct states" : undefined;
}

const isRising = (buckets: readonly number[]): boolean =>
  buckets.length > 0 &&
  buckets.every((end, at) => Number.isFinite(end) && end > (buckets[at - 1] ?? Number.NEGATIVE_INFINITY));
