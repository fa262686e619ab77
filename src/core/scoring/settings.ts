import { labels } from "../api/index.ts";
import type { MarginalCoefficients } from "../demand/index.ts";
import { type Milliseconds, milliseconds } from "../units/index.ts";

export interface ScoringSettings {
  /** A twin older than this says nothing any more. */
  readonly stalenessThreshold: Milliseconds;
  readonly coefficients: MarginalCoefficients;
  /** Whether a pod's watts are weighted with the PUE where it would run. */
  readonly facilityMetrics: boolean;
  /** Points a standard pod loses on a draining node. */
  readonly drainingPenalty: number;
  /** The best score: 100, or 10 for the range of kube-scheduler's own protocol. */
  readonly scoreMax: number;
  /** The node labels that say the profile and whether the node is draining, where its twin says nothing. */
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
