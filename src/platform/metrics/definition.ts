/** What a metric is called, what it says and what tells its series apart: data, so that a page can list them all. */
interface Described<Label extends string> {
  readonly name: string;
  /** One sentence: what the value is, and in which unit. */
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
  /** Upper ends of the buckets, rising; the one for everything is added. */
  readonly buckets: readonly number[];
}

/**
 * Which of a few states something is in, as OpenMetrics' StateSet: a series for each state under the last label, 1 for the
 * current state and 0 for the others. Prometheus knows it as a gauge. One series with the current state alone would be
 * shorter, but it breaks off at every change: then `avg_over_time` tells no share of time, `changes` counts nothing, and an
 * alert on a state that nobody is in has nothing to compare. A thing whose state is unknown has no series at all.
 */
export interface StatesDefinition<Label extends string = string, State extends string = string>
  extends Described<Label> {
  readonly type: "states";
  readonly states: readonly State[];
}

export type MetricDefinition = GaugeDefinition | CounterDefinition | HistogramDefinition | StatesDefinition;

const METRIC_NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
const LABEL_NAME = METRIC_NAME;
/** Prometheus adds these itself. */
const TAKEN_LABELS = new Set(["le", "quantile", "job", "instance"]);
/** Endings that a histogram's own series have. */
const HISTOGRAM_SERIES = /_(bucket|sum|count)$/;

/** Takes a definition as it is, with its literal types; one that Prometheus or its readers would trip over is a mistake of ours. */
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

function problemOf(definition: MetricDefinition): string | undefined {
  const { name, help, type, labels } = definition;
  if (!METRIC_NAME.test(name)) return "is not named in lower case with single underscores";
  if ((type === "counter") !== name.endsWith("_total")) {
    return type === "counter" ? "counts, so its name ends with _total" : "ends with _total but is no counter";
  }
  if (HISTOGRAM_SERIES.test(name)) return "ends like a series of a histogram";
  if (help.trim() === "") return "has no help";
  const badLabel = labels.find((label) => !LABEL_NAME.test(label) || TAKEN_LABELS.has(label));
  if (badLabel !== undefined) return `cannot have the label ${JSON.stringify(badLabel)}`;
  if (new Set(labels).size < labels.length) return "has a label twice";
  if (type === "histogram" && !isRising(definition.buckets)) return "needs buckets that rise";
  if (type !== "states") return undefined;
  if (labels.length === 0) return "needs a label for its state";
  const { states } = definition;
  return states.length === 0 || new Set(states).size < states.length ? "needs states, each once" : undefined;
}

const isRising = (buckets: readonly number[]): boolean =>
  buckets.length > 0 &&
  buckets.every((end, at) => Number.isFinite(end) && end > (buckets[at - 1] ?? Number.NEGATIVE_INFINITY));
