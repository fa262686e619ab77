export { type DropReason, isStale, STALE_AFTER } from "./drops.ts";
export { type Access, EndpointAccess, type EndpointAccessOptions } from "./endpoint-access.ts";
export { TelemetryError, type TelemetryErrorKind } from "./errors.ts";
export {
  type FacilityFigure,
  FacilityPoller,
  type FacilityPollerOptions,
  type FacilityQueries,
  type PollReport,
} from "./facility.ts";
export { type HttpAnswer, type HttpCall, HttpClient, type HttpClientOptions } from "./http-client.ts";
export { HttpPower, type HttpPowerOptions } from "./http-power.ts";
export { MetricsApi, type MetricsApiOptions, type UsageReadings } from "./metrics-api.ts";
export { type PayloadReading, type PowerScope, powerInPayload } from "./payload.ts";
export { powerQueries } from "./power-queries.ts";
export { PrometheusClient, type PrometheusClientOptions, type Sample } from "./prometheus.ts";
export { PrometheusPower, type PrometheusPowerOptions } from "./prometheus-power.ts";
export type { NodePowerSource, NodeReadings } from "./readings.ts";
export { fillPromql, fillUrl, type Placeholder } from "./template.ts";
