import { dashboardConfig } from "../../src/programs/dashboard/config.ts";
import * as seen from "./dashboard-observations.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const table: VariableTable = {
  DASHBOARD_ADDR: { value: "[::1]:0", observe: seen.servedAt, byDefault: "127.0.0.1", changed: "[::1]" },
  METRICS_ADDR: { value: "[::1]:0", observe: seen.metricsAt, byDefault: "127.0.0.1", changed: "[::1]" },
  TWIN_STALENESS_THRESHOLD: { value: "1m", observe: seen.findsOldTwin, byDefault: false, changed: true },
  SCORING: { value: "energy", observe: seen.formula, byDefault: "headroom", changed: "energy" },
  HARDWARE_CATALOG_PATH: {
    value: `${seen.FOLDER}/catalogue.yaml`,
    observe: seen.addedWatts,
    byDefault: "105",
    changed: "350",
  },
  HISTORY_FILE: { value: `${seen.FOLDER}/history.json`, observe: seen.savedFile, byDefault: false, changed: true },
  ENERGY_PRICE: {
    value: "0.3",
    observe: seen.factors,
    byDefault: [null, false, ""],
    changed: ["EUR", false, "0.3 EUR per kWh"],
  },
  ENERGY_CURRENCY: {
    value: "CHF",
    beside: { ENERGY_PRICE: "0.3" },
    observe: seen.factors,
    byDefault: ["EUR", false, "0.3 EUR per kWh"],
    changed: ["CHF", false, "0.3 CHF per kWh"],
  },
  CARBON_INTENSITY: {
    value: "400",
    observe: seen.factors,
    byDefault: [null, false, ""],
    changed: [null, true, "400 g of CO2 per kWh"],
  },
  SITE_PUE: {
    value: "1.4",
    beside: { CARBON_INTENSITY: "400" },
    observe: seen.factors,
    byDefault: [null, true, "400 g of CO2 per kWh"],
    changed: [null, true, "400 g of CO2 per kWh, PUE 1.4"],
  },
  PROMETHEUS_ADDRESS: { value: seen.SERVER, observe: seen.sourceOfTwoDays, byDefault: 400, changed: "prometheus" },
  EXTENDER_URL: { value: seen.SERVER, observe: seen.placements, byDefault: [], changed: ["default/p on a"] },
  DEBUG_TOKEN_FILE: {
    value: `${seen.FOLDER}/token`,
    observe: seen.reasonForToken,
    byDefault: "capped to save energy: CPU at 80 % of its maximum",
    changed: "by the operator's plan",
  },
  OPERATOR_URL: {
    value: seen.SERVER,
    observe: seen.reason,
    byDefault: "capped to save energy: CPU at 80 % of its maximum",
    changed: "by the operator's plan",
  },
};

describeVariables("dashboard", dashboardConfig, table);
