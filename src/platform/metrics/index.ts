export { counter, gauge, type MetricDefinition, metric } from "./definition.ts";
export { NodeMetricTable, type NodeRow } from "./node-table.ts";
export { measureProcess, processMetrics } from "./process-metrics.ts";
export { ProgramMetrics } from "./program-metrics.ts";
