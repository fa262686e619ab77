import { powerConfig } from "../../src/programs/power/config.ts";
import * as seen from "./power-observations.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const lease = { observe: seen.lease, byDefault: "joulie-system/joulie-power power-0" };

const table: VariableTable = {
  POD_NAME: { ...lease, value: "seven", changed: "joulie-system/joulie-power seven" },
  POD_NAMESPACE: { ...lease, value: "elsewhere", changed: "elsewhere/joulie-power power-0" },
  LEASE_NAME: { ...lease, value: "north", changed: "joulie-system/north power-0" },
  METRICS_ADDR: { value: "[::1]:0", observe: seen.servedAt, byDefault: "127.0.0.1", changed: "[::1]" },
  SHUTDOWN_TIMEOUT: { value: "2m", observe: seen.forcedAfter, byDefault: 5, changed: 2 },
  WAKE_TIMEOUT: { value: "5m", observe: seen.retriedAfter, byDefault: 15, changed: 5 },
  SWITCH_ALLOWED_ENDPOINTS: {
    value: "https://switch.example",
    observe: seen.secretFor,
    byDefault: "Secret joulie-system/switch is missing, or not for https://switch.example",
    changed: "Secret joulie-system/switch is missing or has no key token",
  },
};

describeVariables("power program", powerConfig, table);
