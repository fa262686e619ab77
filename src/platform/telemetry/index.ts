export { isStaleSample, STALE_AFTER } from "./dropped-samples.ts";
export { TelemetryError } from "./errors.ts";
export { type FacilityFigure, FacilityPoller } from "./facility/facility-poller.ts";
export { EndpointAccess } from "./http/endpoint-access.ts";
export { type HttpAnswer, type HttpCall, HttpClient } from "./http/http-client.ts";
export { HttpPower } from "./http/http-power.ts";
export { powerInPayload } from "./http/telemetry-payload.ts";
export { MetricsApi } from "./metrics-api/metrics-api.ts";
export type { NodePowerSource } from "./node-power-source.ts";
export {
  PrometheusClient,
  type PrometheusPoint,
  type PrometheusSample,
  type QueryRange,
} from "./prometheus/prometheus-client.ts";
export { PrometheusPower } from "./prometheus/prometheus-power.ts";
export { fillPromql, fillUrl } from "./template.ts";
