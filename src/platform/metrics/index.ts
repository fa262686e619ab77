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
export { type NodeCounter, type NodeGauge, NodeMetricTable, type NodeRow, type NodeStates } from "./node-table.ts";
export { type MeasuredProcess, measureProcess, processMetrics } from "./process-metrics.ts";
export { ProgramMetrics } from "./program-metrics.ts";
