import {
  type Celsius,
  celsius,
  isNonNegative,
  isPositive,
  type Percent,
  percent,
  type Watts,
  watts,
} from "../units/index.ts";

/** Clamps to [0, 100]. NaN gives no score, because 0 would mean no stress. */
export const toScore = (value: number): Percent | undefined =>
  Number.isNaN(value) ? undefined : percent(Math.min(100, Math.max(0, value)));

/** Predicts how much of its cooling capacity a node uses. A thermal simulation can replace the linear model. */
export interface CoolingModel {
  /** Absent if the model cannot predict. `ratedPower` is the most that the node draws uncapped. */
  coolingStress(nodePower: Watts, ambient: Celsius, ratedPower?: Watts): Percent | undefined;
}

/** The baseline of the linear model, and the default for an unknown ambient temperature. */
export const baselineAmbient = celsius(20);

const SCORE_AT_REFERENCE = 80;
const SCORE_PER_DEGREE = 0.5;

/** Two EPYC 9654 and eight H100 NVL under full load. */
export const defaultReferenceNodePower = watts(4000);

/** REFERENCE_NODE_POWER_W: one power for all nodes, or `auto` for the rated power of each node. */
export type ReferenceNodePower = Watts | "auto";

/** 80 points at the reference power, plus half a point per degree above the baseline. Cold air subtracts nothing. */
export function linearCoolingModel({
  referenceNodePower = defaultReferenceNodePower,
}: {
  readonly referenceNodePower?: ReferenceNodePower;
} = {}): CoolingModel {
  return {
    coolingStress: (nodePower, ambient, ratedPower) => {
      const reference = referenceNodePower === "auto" ? (ratedPower ?? Number.NaN) : referenceNodePower;
      const warmth = Math.max(0, ambient - baselineAmbient);
      return toScore((nodePower * SCORE_AT_REFERENCE) / reference + warmth * SCORE_PER_DEGREE);
    },
  };
}

/** The ambient temperature of a node: that of its cooling zone, else of the site, else 20 °C. Sub-zero values are valid. */
export function ambientOf(zone: Celsius | undefined, site: Celsius | undefined): Celsius {
  return [zone, site].find((reading) => reading !== undefined && Number.isFinite(reading)) ?? baselineAmbient;
}

export interface FacilityPower {
  readonly it?: Watts | undefined;
  readonly cooling?: Watts | undefined;
}

/** (IT + cooling) / IT; absent unless both were measured. */
export function pueOf({ it, cooling }: FacilityPower): number | undefined {
  if (!isPositive(it) || !isNonNegative(cooling)) return undefined;
  const pue = 1 + cooling / it;
  return Number.isFinite(pue) ? pue : undefined;
}

/** The PUE of a node: that of its cooling zone, else of the site, else 1. Pass neither if facility metrics are off. */
export const estimatedPue = (zone: FacilityPower = {}, site: FacilityPower = {}): number =>
  pueOf(zone) ?? pueOf(site) ?? 1;
