import { type Celsius, celsius, type Percent, type Watts, watts } from "../units/index.ts";
import { toScore } from "./score.ts";

/** How much of its cooling a node uses: a reduced-order thermal simulation can take the linear model's place. */
export interface CoolingModel {
  /** Absent where the model cannot tell. */
  coolingStress(nodePower: Watts, ambient: Celsius): Percent | undefined;
}

/** Where the linear model starts to count, and what an unknown ambient is taken for. */
export const baselineAmbient = celsius(20);

const SCORE_AT_REFERENCE = 80;
const SCORE_PER_DEGREE = 0.5;

/** Two EPYC 9654 and eight H100 NVL under full load. */
export const defaultReferenceNodePower = watts(4000);

/** 80 points at the reference power leave 20 for warm air, at half a point per degree; cold air earns nothing. */
export function linearCoolingModel({ referenceNodePower = defaultReferenceNodePower } = {}): CoolingModel {
  return {
    coolingStress: (nodePower, ambient) =>
      toScore(
        (nodePower * SCORE_AT_REFERENCE) / referenceNodePower +
          Math.max(0, ambient - baselineAmbient) * SCORE_PER_DEGREE,
      ),
  };
}

/** The air a node breathes: its cooling zone's, else the site's, else 20 °C. Sub-zero is a temperature like any other. */
export function ambientOf(zone: Celsius | undefined, site: Celsius | undefined): Celsius {
  return [zone, site].find((reading) => reading !== undefined && Number.isFinite(reading)) ?? baselineAmbient;
}
