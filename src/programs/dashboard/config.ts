import type * as z from "zod";
import {
  address,
  choice,
  configOf,
  duration,
  everyProgram,
  group,
  hardwareCatalogPath,
  number,
  path,
  text,
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
    TWIN_STALENESS_THRESHOLD: duration({
      default: "5m",
      about: "A NodeTwin not refreshed for longer counts as stale; set it as on the extender.",
    }),
    SCORING: choice(["headroom", "energy"], {
      default: "headroom",
      about:
        "The formula for the score of a pod that a reader describes, where the extender's Deployment cannot be read.",
    }),
    HARDWARE_CATALOG_PATH: hardwareCatalogPath(),
  }),
  ...group("History and other sources", {
    HISTORY_FILE: path({
      about: "Keeps the last 24 hours and the energy account over a restart; unset = in memory only.",
    }),
    PROMETHEUS_ADDRESS: url({ about: "Reads the power of more than 24 hours ago from this Prometheus server." }),
    EXTENDER_URL: url({ about: "Shows the placements of this extender, from its page /debug/decisions." }),
    OPERATOR_URL: url({ about: "Shows the reasons of this operator's plan, from its page /debug/plan." }),
    DEBUG_TOKEN_FILE: path({ about: "A file with the bearer token for these two pages; unset = no token is sent." }),
  }),
  ...group("Money and carbon of the savings panel", {
    ENERGY_PRICE: number({ above: 0, about: "Price of a kilowatt-hour; unset = no money is shown." }),
    ENERGY_CURRENCY: text({
      default: "EUR",
      allowed: "the name of a currency such as EUR",
      about: "Currency of ENERGY_PRICE.",
    }),
    CARBON_INTENSITY: number({ above: 0, about: "Grams of CO2 per kilowatt-hour; unset = no carbon is shown." }),
    SITE_PUE: number({
      default: "1",
      min: 1,
      about: "Energy of the site per energy of the servers; multiplies money and carbon.",
    }),
  }),
  ...everyProgram,
});

export type DashboardConfig = z.output<typeof dashboardConfig>;
