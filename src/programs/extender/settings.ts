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

/** Undefined unless nodes are ranked by joules. */
export const energySettingsOf = (config: ExtenderConfig): EnergySettings | undefined =>
  config.SCORING === "energy" ? energySettings({ sleeps: config.SLEEP_MODE === "on" }) : undefined;
