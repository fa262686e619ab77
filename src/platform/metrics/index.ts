export {
  type CounterDefinition,
  counter,
  type GaugeDefinition,
  gauge,
  type HistogramDefinition,
  type MetricDefinition,
  metric,
  type StatesDefinition,
} from "./definition.ts";
export type { NodeCounter, NodeGauge, NodeStates } from "./node-family.ts";
export type { NodeRow } from "./node-rows.ts";
export { NodeMetricTable } from "./node-table.ts";
export { type MeasuredProcess, measureProcess, processMetrics } from "./process-metrics.ts";
export { ProgramMetrics } from "./program-metrics.ts";
