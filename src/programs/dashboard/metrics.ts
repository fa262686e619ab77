import { counter, gauge } from "../../platform/metrics/index.ts";

export const definitions = {
  clients: gauge("joulie_dashboard_clients", "Pages that receive live changes now.", []),
  refused: counter(
    "joulie_dashboard_refused_clients_total",
    "Pages that were refused because DASHBOARD_CLIENTS pages were open.",
    [],
  ),
  resyncs: counter(
    "joulie_dashboard_resyncs_total",
    "Times that a page had to read everything again because it was too slow or away for too long.",
    [],
  ),
  denied: counter("joulie_dashboard_denied_requests_total", "Requests without sufficient rights.", []),
} as const;
