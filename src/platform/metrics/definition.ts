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

/** Returns a definition with its literal types. */
export function metric<
  const Label extends string,
  const State extends string,
  const Definition extends
    | GaugeDefinition<Label>
    | CounterDefinition<Label>
    | HistogramDefinition<Label>
    | StatesDefinition<Label, State>,
>(definition: Definition): Definition {
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
