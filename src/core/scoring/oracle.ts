import type { Labels } from "../api/index.ts";
import {
  type MarginalWatts,
  marginalWattsOn,
  type PodDemand,
  pueWeighted,
  type WorkloadClass,
} from "../demand/index.ts";
import type { HardwareView } from "../inventory/index.ts";
import { type Percent, type Watts, wattsPerMinute } from "../units/index.ts";
import { type Batch, isFresh } from "./batch.ts";
import {
  clampScore,
  coolingTerm,
  drainingPenalty,
  headroomScore,
  headroomTerm,
  isBurst,
  NEUTRAL_SCORE,
  pressureRelief,
  profileBonus,
  publishedScore,
  type ScoringSettings,
  trendBonus,
} from "./formula.ts";
import type { TwinState } from "./twin-state.ts";

/** The pod, as far as scoring needs it. */
export interface ScoredPod {
  readonly demand: PodDemand;
  readonly workloadClass: WorkloadClass;
}

export interface CandidateNode {
  readonly twin?: TwinState | undefined;
  readonly hardware?: HardwareView | undefined;
  readonly labels?: Labels | undefined;
}

/** Why a node gets the neutral score. */
type NeutralReason = "no twin" | "no class" | "stale" | "no headroom";

interface NeutralBreakdown {
  readonly neutral: NeutralReason;
  readonly score: number;
}

/** The components of a score, in points that add up to `raw`. */
export interface ScoredBreakdown {
  readonly neutral?: undefined;
  /** The watts that the pod would add to the node, multiplied with the PUE if that is enabled. */
  readonly marginal: MarginalWatts;
  /** The share of the budget that remains with the pod; weighted with 0.7. */
  readonly headroomScore: Percent;
  readonly coolingTerm: number;
  readonly trendBonus: number;
  readonly profileBonus: number;
  readonly pressureRelief: number;
  readonly drainingPenalty: number;
  readonly raw: number;
  readonly clamped: number;
  readonly score: number;
}

export type Breakdown = NeutralBreakdown | ScoredBreakdown;

/** The reference implementation of the formula, for one pod and one node. `kernel.ts` is the fast one; this one explains the score. */
export function scoreNode(pod: ScoredPod, node: CandidateNode, batch: Batch, settings: ScoringSettings): Breakdown {
  const { twin } = node;
  if (twin === undefined) return neutral("no twin", settings);
  if (twin.schedulableClass === undefined) return neutral("no class", settings);
  if (!isFresh(twin, batch.now, settings.stalenessThreshold)) return neutral("stale", settings);

  const marginal = marginalOn(pod, node, settings);
  const headroom = headroomWith(twin, marginal.total);
  if (headroom === undefined) return neutral("no headroom", settings);

  const terms = {
    coolingTerm: coolingTerm(twin.coolingStress),
    trendBonus: trendBonus(twin.power?.trend ?? FLAT, isBurst(batch.clusterTrend)),
    profileBonus: profileBonus(pod.workloadClass, twin.schedulableClass),
    pressureRelief: pressureRelief(pod.workloadClass, twin.schedulableClass, batch.perfPressure),
    drainingPenalty: drainingPenalty(pod.workloadClass, twin.schedulableClass, settings.drainingPenalty),
  };
  const raw =
    headroomTerm(headroom) +
    terms.coolingTerm +
    terms.trendBonus +
    terms.profileBonus +
    terms.pressureRelief +
    terms.drainingPenalty;
  const clamped = clampScore(raw);
  return {
    marginal,
    headroomScore: headroom,
    ...terms,
    raw,
    clamped,
    score: publishedScore(clamped, settings.scoreMax),
  };
}

export const marginalOn = (pod: ScoredPod, node: CandidateNode, settings: ScoringSettings): MarginalWatts =>
  pueWeighted(marginalWattsOn(pod, node, settings.coefficients), node.twin?.pue, settings.facilityMetrics);

/** A prediction describes the node as it is; only a measurement allows projecting the headroom with the pod. */
const headroomWith = ({ power, predictedHeadroom }: TwinState, added: Watts): Percent | undefined =>
  power === undefined ? predictedHeadroom : headroomScore(power.budget, power.drawn, added);

const FLAT = wattsPerMinute(0);

const neutral = (reason: NeutralReason, settings: ScoringSettings): NeutralBreakdown => ({
  neutral: reason,
  score: publishedScore(NEUTRAL_SCORE, settings.scoreMax),
});
