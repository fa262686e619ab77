import type * as z from "zod";
import { type EnergySettings, energySettings, type ScoringSettings } from "../../core/scoring/index.ts";
import { sleepModes } from "../../core/sleep/index.ts";
import {
  type Address,
  address,
  bytes,
  choice,
  configOf,
  debugEndpoints,
  differ,
  drainingLabel,
  duration,
  everyProgram,
  flag,
  goesWith,
  group,
  hardwareCatalogPath,
  integer,
  number,
  path,
  powerProfileLabel,
  preset,
} from "../../platform/config/index.ts";

const scorings = ["headroom", "energy"] as const;

export const extenderConfig = configOf(
  {
    ...group("The extender", {
      PRESET: preset("extender"),
      EXTENDER_ADDR: address({
        default: ":9876",
        about: "Address for kube-scheduler: /filter, /prioritize and debug pages.",
      }),
      METRICS_ADDR: address({ default: ":9877", about: "Address of metrics, health and debug pages." }),
      DEBUG_ENDPOINTS: debugEndpoints(),
      CACHE_TTL: duration({
        default: "30s",
        about: "Maximum age of cached NodeTwins and NodeHardware while the API responds.",
      }),
      TWIN_STALENESS_THRESHOLD: duration({
        default: "5m",
        about:
          "A NodeTwin not refreshed for longer gives its node the neutral score. Taken from the operator if it is not set here.",
      }),
      EXTENDER_MAX_BODY_BYTES: bytes({ default: "64Mi", about: "The largest request body." }),
    }),
    ...group("Nodes and labels", {
      POWER_PROFILE_LABEL: powerProfileLabel(),
      DRAINING_LABEL: drainingLabel(),
      HARDWARE_CATALOG_PATH: hardwareCatalogPath(),
    }),
    ...group("Scoring", {
      SCORING: choice(scorings, {
        default: "headroom",
        about: "Rank nodes by their free power budget (headroom) or by the joules the pod adds there (energy).",
      }),
      SLEEP_MODE: choice(sleepModes, {
        default: "off",
        about:
          "Taken from the operator if it is not set here. With SCORING=energy and on, a pod that keeps a node awake costs the idle power of that node, and full GPU nodes are preferred.",
      }),
      MARGINAL_CPU_UTIL_COEFF: number({
        default: "0.7",
        min: 0,
        about: "The share of a requested core's power a pod is expected to draw.",
      }),
      MARGINAL_GPU_UTIL_COEFF_STANDARD: number({
        default: "0.65",
        min: 0,
        about: "The share of a requested GPU's power a standard pod is expected to draw.",
      }),
      MARGINAL_GPU_UTIL_COEFF_PERFORMANCE: number({
        default: "0.85",
        min: 0,
        about: "The share of a requested GPU's power a performance pod is expected to draw.",
      }),
      ENABLE_FACILITY_METRICS: flag({ default: "false", about: "Weigh a pod's power by the PUE in the NodeTwin." }),
      DRAINING_SCORE_PENALTY: number({
        default: "20",
        min: 0,
        max: 100,
        about: "Points that a draining node loses for standard pods.",
      }),
      SCORE_MAX: integer({
        default: "100",
        min: 1,
        max: 100,
        about: "The highest score; 10 is kube-scheduler's own range, 100 outweighs its built-in plugins.",
      }),
    }),
    ...group("TLS", {
      EXTENDER_TLS_CERT_FILE: path({ about: "The server's certificate; unset = plain HTTP." }),
      EXTENDER_TLS_KEY_FILE: path({ about: "The certificate's private key." }),
      EXTENDER_TLS_CLIENT_CA_FILE: path({ about: "Accept only clients with a certificate of this authority." }),
    }),
    ...everyProgram,
  },
  [
    goesWith("EXTENDER_TLS_CERT_FILE", "EXTENDER_TLS_KEY_FILE"),
    goesWith("EXTENDER_TLS_KEY_FILE", "EXTENDER_TLS_CERT_FILE"),
    {
      reads: ["EXTENDER_TLS_CLIENT_CA_FILE", "EXTENDER_TLS_CERT_FILE"],
      holds: (config) =>
        config.EXTENDER_TLS_CLIENT_CA_FILE === undefined || config.EXTENDER_TLS_CERT_FILE !== undefined,
      problem: "needs {EXTENDER_TLS_CERT_FILE}",
      allowed:
        "only together with EXTENDER_TLS_CERT_FILE and EXTENDER_TLS_KEY_FILE: plain HTTP has no client certificates",
    },
    {
      reads: ["EXTENDER_ADDR", "METRICS_ADDR"],
      holds: (config) => !collide(config.EXTENDER_ADDR, config.METRICS_ADDR),
      problem: "is the same address as {METRICS_ADDR}",
      allowed: "two different ports",
    },
    differ("DRAINING_LABEL", "POWER_PROFILE_LABEL"),
  ],
);

export type ExtenderConfig = z.output<typeof extenderConfig>;

const everyInterface: ReadonlySet<string | undefined> = new Set([undefined, "0.0.0.0", "::"]);

function collide(one: Address, other: Address): boolean {
  const sameHost = one.host === other.host || everyInterface.has(one.host) || everyInterface.has(other.host);
  return one.port === other.port && one.port !== 0 && sameHost;
}

/** Maps the configuration to the settings of core/scoring. */
export const scoringSettingsOf = (config: ExtenderConfig): ScoringSettings => ({
  stalenessThreshold: config.TWIN_STALENESS_THRESHOLD,
  coefficients: {
    cpu: config.MARGINAL_CPU_UTIL_COEFF,
    gpuStandard: config.MARGINAL_GPU_UTIL_COEFF_STANDARD,
    gpuPerformance: config.MARGINAL_GPU_UTIL_COEFF_PERFORMANCE,
  },
  facilityMetrics: config.ENABLE_FACILITY_METRICS,
  drainingPenalty: config.DRAINING_SCORE_PENALTY,
  scoreMax: config.SCORE_MAX,
  nodeLabels: { powerProfile: config.POWER_PROFILE_LABEL, draining: config.DRAINING_LABEL },
});

const scoringVariables = [
  "SCORING",
  "SLEEP_MODE",
  "MARGINAL_CPU_UTIL_COEFF",
  "MARGINAL_GPU_UTIL_COEFF_STANDARD",
  "MARGINAL_GPU_UTIL_COEFF_PERFORMANCE",
  "ENABLE_FACILITY_METRICS",
  "DRAINING_SCORE_PENALTY",
  "SCORE_MAX",
  "POWER_PROFILE_LABEL",
  "DRAINING_LABEL",
] as const satisfies readonly (keyof ExtenderConfig)[];

/** The variables that decide scores, as text. `joulie why` reads them with the schema of the extender. */
export const scoringVariablesOf = (config: ExtenderConfig): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(scoringVariables.map((name) => [name, String(config[name])])),
  TWIN_STALENESS_THRESHOLD: `${config.TWIN_STALENESS_THRESHOLD}ms`,
});

/** Undefined unless nodes are ranked by joules. */
export const energySettingsOf = (config: ExtenderConfig): EnergySettings | undefined =>
  config.SCORING === "energy" ? energySettings({ sleeps: config.SLEEP_MODE === "on" }) : undefined;
