import type { WorkloadClass } from "../demand/index.ts";
import type { Percent, Watts, WattsPerMinute } from "../units/index.ts";
import type { KnownClass } from "./twin-state.ts";

/**
 * The scoring formula of seed 003, one function per component; every result is in points of the final score unless its type
 * says otherwise. The oracle and the columnar kernel both call these, so their floating-point steps are the same.
 */

/** What a node scores that nothing is known about. */
export const NEUTRAL_SCORE = 50;

const HEADROOM_WEIGHT = 0.7;
const COOLING_WEIGHT = 0.15;
/** Stress that is assumed where the twin predicts none: the middle, neither rewarded nor punished as far as it goes. */
const NEUTRAL_STRESS = 50;
const BURST_ABOVE = 500;
const CALM_SCALE = 6;
const BURST_SCALE = 2;
const MOST_TREND_POINTS = 25;
const ECO_BONUS = 10;
const RELIEF_WEIGHT = 0.3;
/** floor(x + this) is Math.round(x) for what is not negative, without its branch: guessed wrong every other time, it doubled the cost of a score. */
const JUST_BELOW_HALF = 0.49999999999999994;

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** Share of its budget a node has left once `added` watts come on top; negative where the budget is overdrawn. */
export const headroomScore = (budget: Watts, drawn: Watts, added: Watts): Percent =>
  (((budget - (drawn + added)) / budget) * 100) as Percent;

export const headroomTerm = (headroom: Percent): number => headroom * HEADROOM_WEIGHT;

export const coolingTerm = (stress: Percent | undefined): number => (100 - (stress ?? NEUTRAL_STRESS)) * COOLING_WEIGHT;

export const isBurst = (clusterTrend: WattsPerMinute): boolean => Math.abs(clusterTrend) > BURST_ABOVE;

/** Falling power earns points, rising power costs them; 0 − x and not −x, because −0 would show in reports. */
export const trendBonus = (trend: WattsPerMinute, burst: boolean): number =>
  0 - clamp(trend / (burst ? BURST_SCALE : CALM_SCALE), -MOST_TREND_POINTS, MOST_TREND_POINTS);

export const profileBonus = (workload: WorkloadClass, node: KnownClass): number =>
  workload === "standard" && node === "eco" ? ECO_BONUS : 0;

export const pressureRelief = (workload: WorkloadClass, node: KnownClass, pressure: Percent): number =>
  workload === "standard" && node === "performance" ? 0 - pressure * RELIEF_WEIGHT : 0;

/** Standard work on a draining node would keep it from coming to rest. */
export const drainingPenalty = (workload: WorkloadClass, node: KnownClass, penalty: number): number =>
  workload === "standard" && node === "draining" ? 0 - penalty : 0;

/** `congestion` is the sum of 100 − headroom over `nodes` performance nodes. Overdrawn budgets can push the average over 100. */
export const perfPressure = (congestion: number, nodes: number): Percent =>
  (nodes === 0 ? 0 : clamp(congestion / nodes, 0, 100)) as Percent;

export const clampScore = (raw: number): number => clamp(raw, 0, 100);

/**
 * The points as kube-scheduler gets them: a whole number from 0 to `scoreMax`. Scaled first and rounded once, so that a small
 * range loses nothing twice; the factor is exactly 1 for the default range.
 */
export const publishedScore = (clamped: number, scoreMax: number): number =>
  Math.floor(clamped * (scoreMax / 100) + JUST_BELOW_HALF);
