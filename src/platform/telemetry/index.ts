export { type DropReason, isStale, STALE_AFTER } from "./dropped-samples.ts";
export { TelemetryError, type TelemetryErrorKind } from "./errors.ts";
export {
  type FacilityFigure,
  FacilityPoller,
  type FacilityPollerOptions,
  type FacilityPollReport,
  type FacilityQueries,
} from "./facility/facility-poller.ts";
export { EndpointAccess, type EndpointAccessOptions, type EndpointPermission } from "./http/endpoint-access.ts";
export { type HttpAnswer, type HttpCall, HttpClient, type HttpClientOptions } from "./http/http-client.ts";
export { HttpPower, type HttpPowerOptions } from "./http/http-power.ts";
export { type PayloadReading, type PowerScope, powerInPayload } from "./http/telemetry-payload.ts";
export { MetricsApi, type MetricsApiOptions, type UsageReadings } from "./metrics-api/metrics-api.ts";
export type { NodePowerSource, NodeReadings } from "./node-power-source.ts";
export {
  PrometheusClient,
  type PrometheusClientOptions,
  type PrometheusPoint,
  type PrometheusSample,
  type QueryRange,
} from "./prometheus/prometheus-client.ts";
export { PrometheusPower, type PrometheusPowerOptions } from "./prometheus/prometheus-power.ts";
export { fillPromql, fillUrl, type Placeholder } from "./template.ts";
