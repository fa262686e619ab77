import { labels } from "../api/index.ts";
import type { MarginalCoefficients } from "../demand/index.ts";
import { type Milliseconds, milliseconds } from "../units/index.ts";

export interface ScoringSettings {
  /** A twin older than this is stale. */
  readonly stalenessThreshold: Milliseconds;
  readonly coefficients: MarginalCoefficients;
  /** Whether a pod's watts are multiplied with the PUE of the node. */
  readonly facilityMetrics: boolean;
  /** Points that a standard pod loses on a draining node. */
  readonly drainingPenalty: number;
  /** The highest score: 100, or 10 for the range of kube-scheduler's extender protocol. */
  readonly scoreMax: number;
  /** The node labels for profile and draining, used if the twin has no class. */
  readonly nodeLabels: { readonly powerProfile: string; readonly draining: string };
}

export const defaultScoringSettings: ScoringSettings = {
  stalenessThreshold: milliseconds(5 * 60_000),
  coefficients: { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 },
  facilityMetrics: false,
  drainingPenalty: 20,
  scoreMax: 100,
  nodeLabels: { powerProfile: labels.powerProfile, draining: labels.draining },
};
