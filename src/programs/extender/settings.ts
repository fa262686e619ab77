import { type EnergySettings, energySettings, type ScoringSettings } from "../../core/scoring/index.ts";
import type { ExtenderConfig } from "./config.ts";

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
