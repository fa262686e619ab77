import { join } from "node:path";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import * as seen from "./extender-observations.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const file = (name: string) => join(seen.certificates, name);
const tls = { EXTENDER_TLS_CERT_FILE: file("server.crt"), EXTENDER_TLS_KEY_FILE: file("server.key") };
const fallback = { observe: seen.byLabel, byDefault: ["our-eco", "our-draining"] };
const scoring = {
  observe: seen.scores,
  byDefault: { cores: { calm: 53, draining: 40, old: 53 }, gpus: 39, gpusOfPerformance: 41 },
};
const listening = { observe: seen.overTls, byDefault: "does not start", changed: "https: 200" };
const table: VariableTable = {
  EXTENDER_ADDR: { value: seen.FREE, observe: seen.served, byDefault: { asked: false }, changed: { asked: true } },
  METRICS_ADDR: {
    value: seen.FREE_METRICS,
    observe: seen.served,
    byDefault: { metrics: false },
    changed: { metrics: true },
  },
  DEBUG_ENDPOINTS: { value: "true", observe: seen.debugPage, byDefault: 403, changed: 200 },
  POWER_PROFILE_LABEL: {
    ...fallback,
    value: "site.example/profile",
    changed: ["usual-eco", "our-draining"],
  },
  DRAINING_LABEL: { ...fallback, value: "site.example/draining", changed: ["our-eco", "usual-draining"] },
  HARDWARE_CATALOG_PATH: { value: `${seen.FOLDER}/catalogue.yaml`, observe: seen.labelled, byDefault: 25, changed: 43 },
  CACHE_TTL: { value: "10m", observe: seen.askedAgain, byDefault: true, changed: false },
  TWIN_STALENESS_THRESHOLD: { ...scoring, value: "1m", changed: { cores: { calm: 53, draining: 40, old: 50 } } },
  PRESET: {
    value: "energy",
    observe: seen.ranking,
    byDefault: { calm: 53, draining: 40, old: 53 },
    changed: { calm: 100, draining: 100, old: 100 },
  },
  SCORING: {
    value: "energy",
    observe: seen.ranking,
    byDefault: { calm: 53, draining: 40, old: 53 },
    changed: { calm: 100, draining: 100, old: 100 },
  },
  SLEEP_MODE: {
    value: "on",
    beside: { SCORING: "energy" },
    observe: seen.awake,
    byDefault: { calm: 100, old: 1 },
    changed: { calm: 1, old: 100 },
  },
  EXTENDER_MAX_BODY_BYTES: { value: "2Ki", observe: seen.longRequest, byDefault: 200, changed: 413 },
  MARGINAL_CPU_UTIL_COEFF: { ...scoring, value: "0.2", changed: { cores: { calm: 56, draining: 43, old: 56 } } },
  MARGINAL_GPU_UTIL_COEFF_STANDARD: { ...scoring, value: "0.2", changed: { gpus: 51, gpusOfPerformance: 41 } },
  MARGINAL_GPU_UTIL_COEFF_PERFORMANCE: { ...scoring, value: "0.2", changed: { gpus: 39, gpusOfPerformance: 59 } },
  ENABLE_FACILITY_METRICS: {
    ...scoring,
    value: "true",
    changed: { cores: { calm: 49, draining: 37, old: 49 }, gpus: 24 },
  },
  DRAINING_SCORE_PENALTY: { ...scoring, value: "5", changed: { cores: { calm: 53, draining: 55, old: 53 } } },
  SCORE_MAX: { ...scoring, value: "10", changed: { cores: { calm: 5, draining: 4, old: 5 }, gpus: 4 } },
  EXTENDER_TLS_CERT_FILE: {
    value: file("server.crt"),
    beside: { ...tls, EXTENDER_TLS_CERT_FILE: file("none.crt") },
    ...listening,
  },
  EXTENDER_TLS_KEY_FILE: {
    value: file("server.key"),
    beside: { ...tls, EXTENDER_TLS_KEY_FILE: file("none.key") },
    ...listening,
  },
  EXTENDER_TLS_CLIENT_CA_FILE: {
    value: file("ca.crt"),
    beside: tls,
    observe: seen.overTls,
    byDefault: "https: 200",
    changed: "https: refused",
  },
};

describeVariables("extender", extenderConfig, table);
