/** How far the estimate of saved energy is from the truth in simulations, where the truth is known. */
export interface EstimatorBias {
  /** Mean of (estimate − truth) in percent of the true energy of the counterfactual; negative: the estimate is too low. */
  readonly meanPct: number;
  readonly lowestPct: number;
  readonly highestPct: number;
  /** The share of runs in which the interval contained the truth, 0 to 1. */
  readonly covered: number;
  readonly runs: number;
  /** The command that finds these figures. */
  readonly command: string;
}

/** Found by `npm run bench -- savings`; a test repeats a part of it. */
export const ESTIMATOR_BIAS: EstimatorBias = {
  meanPct: -0.6,
  lowestPct: -1.9,
  highestPct: 1.4,
  covered: 1,
  runs: 60,
  command: "npm run bench -- savings",
};
