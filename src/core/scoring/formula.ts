import { labels } from "../api/index.ts";
import type { MarginalCoefficients, WorkloadClass } from "../demand/index.ts";
import { type Milliseconds, milliseconds, type Percent, type Watts, type WattsPerMinute } from "../units/index.ts";
import type { KnownClass } from "./twin-state.ts";

/**
 * The scoring formula, one function per component. Every result is in points of the final score unless its type says
 * otherwise. The oracle and the columnar kernel both call these functions, so their floating-point steps are the same.
 */

/** The score of a node without information. */
export const NEUTRAL_SCORE = 50;

export const HEADROOM_WEIGHT = 0.7;
const COOLING_WEIGHT = 0.15;
/** The assumed stress if the twin predicts none: the middle of the scale. */
const NEUTRAL_STRESS = 50;
const BURST_ABOVE = 500;
const CALM_SCALE = 6;
const BURST_SCALE = 2;
const MAX_TREND_POINTS = 25;
const ECO_BONUS = 10;
const RELIEF_WEIGHT = 0.3;
/** floor(x + this) equals Math.round(x) for x >= 0 without its branch, whose mispredictions doubled the cost of a score. */
const JUST_BELOW_HALF = 0.49999999999999994;

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** The share of a node's budget that remains after `added` watts; negative if the budget is exceeded. */
export const headroomScore = (budget: Watts, drawn: Watts, added: Watts): Percent =>
  (((budget - (drawn + added)) / budget) * 100) as Percent;

export const headroomTerm = (headroom: Percent): number => headroom * HEADROOM_WEIGHT;

export const coolingTerm = (stress: Percent | undefined): number => (100 - (stress ?? NEUTRAL_STRESS)) * COOLING_WEIGHT;

export const isBurst = (clusterTrend: WattsPerMinute): boolean => Math.abs(clusterTrend) > BURST_ABOVE;

/** Falling power adds points, rising power subtracts them. 0 − x instead of −x avoids −0 in reports. */
export const trendBonus = (trend: WattsPerMinute, burst: boolean): number =>
  0 - clamp(trend / (burst ? BURST_SCALE : CALM_SCALE), -MAX_TREND_POINTS, MAX_TREND_POINTS);

export const profileBonus = (workload: WorkloadClass, node: KnownClass): number =>
  workload === "standard" && node === "eco" ? ECO_BONUS : 0;

export const pressureRelief = (workload: WorkloadClass, node: KnownClass, pressure: Percent): number =>
  workload === "standard" && node === "performance" ? 0 - pressure * RELIEF_WEIGHT : 0;

/** Standard work on a draining node would delay its change to eco. */
export const drainingPenalty = (workload: WorkloadClass, node: KnownClass, penalty: number): number =>
  workload === "standard" && node === "draining" ? 0 - penalty : 0;

/** `congestion` is the sum of 100 − headroom over `nodes` performance nodes. Exceeded budgets can push the average above 100. */
export const perfPressure = (congestion: number, nodes: number): Percent =>
  (nodes === 0 ? 0 : clamp(congestion / nodes, 0, 100)) as Percent;

export const clampScore = (raw: number): number => clamp(raw, 0, 100);

/**
 * The score for kube-scheduler: an integer from 0 to `scoreMax`. It is scaled first and rounded once, to lose no precision in
 * a small range. The factor is exactly 1 for the default range.
 */
export const publishedScore = (clamped: number, scoreMax: number): number =>
  Math.floor(clamped * (scoreMax / 100) + JUST_BELOW_HALF);

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
