import type * as z from "zod";
import {
  address,
  choice,
  configOf,
  duration,
  everyProgram,
  group,
  hardwareCatalogPath,
  integer,
  path,
  url,
} from "../../platform/config/index.ts";

/** The variables of `joulie dashboard`. */
export const dashboardConfig = configOf({
  ...group("The dashboard", {
    DASHBOARD_ADDR: address({
      default: "127.0.0.1:8090",
      about:
        "Where the dashboard is served. Clients on other machines need a bearer token; see docs/guides/dashboard.md.",
    }),
    METRICS_ADDR: address({ default: ":8083", about: "Where metrics and health pages are served." }),
    DASHBOARD_CLIENTS: integer({
      default: "64",
      min: 1,
      max: 1024,
      about: "How many pages may be open at the same time.",
    }),
    TWIN_STALENESS_THRESHOLD: duration({
      default: "5m",
      about: "A NodeTwin not refreshed for longer counts as stale; set it as on the extender.",
    }),
    SCORING: choice(["headroom", "energy"], {
      default: "headroom",
      about: "The formula for the score of a pod that a reader describes; set it as on the extender.",
    }),
    HARDWARE_CATALOG_PATH: hardwareCatalogPath(),
  }),
  ...group("History and other sources", {
    HISTORY_FILE: path({ about: "Keeps the last 24 hours over a restart; unset = in memory only." }),
    PROMETHEUS_URL: url({ about: "Reads the power of more than 24 hours ago from this Prometheus server." }),
    EXTENDER_URL: url({ about: "Shows the placements of this extender, from its page /debug/decisions." }),
    OPERATOR_URL: url({ about: "Shows the reasons of this operator's plan, from its page /debug/plan." }),
  }),
  ...everyProgram,
});

export type DashboardConfig = z.output<typeof dashboardConfig>;
