import type { EnergyTotals, JoulesInterval } from "./energy-account.ts";

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

/** What the report multiplies energy with. Absent: no money, no carbon. */
export interface EnergyFactors {
  readonly pricePerKilowattHour?: number | undefined;
  readonly currency?: string | undefined;
  readonly gramsCo2PerKilowattHour?: number | undefined;
  /** Multiplies the energy of servers at the wall to that of the site; 1 by default. */
  readonly pue?: number | undefined;
}

/** Estimate and range of a figure in one unit. */
export interface FigureInterval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** How the figures were made. Every view of savings shows it. */
export const SAVINGS_METHOD =
  "Energy used is power at the wall, added up over time: the reading of a meter of the whole server where there is one, " +
  "else the power of packages and boards as the twins publish it and a model of the rest of the server (fans, memory, " +
  "network cards, disks, losses of power supplies). Energy not used is a model: the same pods on the same nodes without " +
  "caps, with every node switched on. A cap counts only while it binds; the work that is done counts, not the time it " +
  "takes. The interval covers all loads and all kinds of work that fit the readings. A sleeping node saves the idle " +
  "power of its model. Effects of placing pods elsewhere are not counted.";

export interface SavingsReport {
  readonly method: string;
  readonly totals: EnergyTotals;
  /** Used and not used together: what the model says the cluster would have used. */
  readonly counterfactual: JoulesInterval;
  readonly notUsedPct: FigureInterval | undefined;
  readonly bias: EstimatorBias;
  /** What a kilowatt-hour at the wall costs and emits at the site: price and carbon times PUE. */
  readonly perKilowattHour: { readonly cost: number | undefined; readonly carbonKg: number | undefined };
  readonly cost: { readonly used: number; readonly notUsed: FigureInterval; readonly currency: string } | undefined;
  readonly carbonKg: { readonly used: number; readonly notUsed: FigureInterval } | undefined;
}

const JOULES_PER_KILOWATT_HOUR = 3_600_000;
export const kilowattHours = (energy: number): number => energy / JOULES_PER_KILOWATT_HOUR;

export function savingsReport(totals: EnergyTotals, factors: EnergyFactors = {}): SavingsReport {
  const { used, notUsed } = totals;
  const counterfactual = scaled(notUsed, (value) => used + value) as JoulesInterval;
  const { pricePerKilowattHour: price, gramsCo2PerKilowattHour: grams, pue = 1 } = factors;
  const perKilowattHour = {
    cost: price === undefined ? undefined : price * pue,
    carbonKg: grams === undefined ? undefined : (grams / 1000) * pue,
  };
  const multiplied = (by: number) => ({
    used: kilowattHours(used) * by,
    notUsed: scaled(notUsed, (value) => kilowattHours(value) * by),
  });
  return {
    method: SAVINGS_METHOD,
    totals,
    counterfactual,
    // The share of each bound belongs to the counterfactual of the same bound.
    notUsedPct: used + notUsed.estimate > 0 ? scaled(notUsed, (value) => (100 * value) / (used + value)) : undefined,
    bias: ESTIMATOR_BIAS,
    perKilowattHour,
    cost:
      perKilowattHour.cost === undefined
        ? undefined
        : { ...multiplied(perKilowattHour.cost), currency: factors.currency ?? "EUR" },
    carbonKg: perKilowattHour.carbonKg === undefined ? undefined : multiplied(perKilowattHour.carbonKg),
  };
}

const scaled = ({ estimate, low, high }: FigureInterval, by: (value: number) => number): FigureInterval => ({
  estimate: by(estimate),
  low: by(low),
  high: by(high),
});
