export {
  type CounterDefinition,
  type GaugeDefinition,
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
export { type MeasuredProgram, metricsReference } from "./reference.ts";
