import type { NodeTwinStatus, SchedulableClass } from "../api/index.ts";
import {
  type Celsius,
  isNonNegative,
  type Percent,
  type Watts,
  type WattsPerMinute,
  watts,
  wattsPerMinute,
} from "../units/index.ts";
import { type EffectiveCaps, isPercentage, maxPowerOf, type PowerEnvelope } from "./caps.ts";
import { ambientOf, type CoolingModel, linearCoolingModel, toScore } from "./cooling.ts";
import { cappedPower, powerMeasurement } from "./measurement.ts";
import type { PowerReading } from "./power-source.ts";
import { psuStress } from "./psu.ts";

/** The input of a prediction for one node. Unknown values are absent. */
export interface TwinInput {
  readonly hardware: PowerEnvelope;
  readonly caps: EffectiveCaps;
  /** The node's state as the guard published it. */
  readonly schedulableClass?: SchedulableClass;
  readonly density?: number;
  readonly slowdown?: Percent;
  readonly ambient?: Celsius;
  /** Total power of all nodes on the node's supply (see `supplyTotals`). */
  readonly supplyTotal?: Watts | undefined;
  readonly pue?: number;
  /** The node's power, measured or estimated; it reflects the node's workloads. */
  readonly reading?: PowerReading | undefined;
  readonly trend?: WattsPerMinute;
}

export interface TwinModel {
  readonly cooling: CoolingModel;
  readonly rackCapacity?: Watts;
}

export type TwinOutput = Pick<
  NodeTwinStatus,
  | "schedulableClass"
  | "predictedPowerHeadroomScore"
  | "predictedCoolingStressScore"
  | "coolingStressNow"
  | "predictedPsuStressScore"
  | "effectiveCapState"
  | "expectedSlowdownPct"
  | "hardwareDensityScore"
  | "estimatedPUE"
  | "powerMeasurement"
>;

const defaultModel: TwinModel = { cooling: linearCoolingModel() };

/** The power that the node may draw at its caps. It is a planning value, independent of live readings. */
export function nodePower(hardware: PowerEnvelope, caps: EffectiveCaps): Watts | undefined {
  const capped = cappedPower(hardware, caps);
  return capped === undefined ? undefined : watts(capped.cpu + capped.gpu);
}

/** Headroom for more work: cap factor (cpuPct + gpuPct)/200 times cooling factor 1 − stress/100, in percent. */
export const headroom = ({ cpuPct, gpuPct }: EffectiveCaps, coolingStress: Percent): Percent | undefined =>
  toScore(((cpuPct + gpuPct) * (100 - coolingStress)) / 200);

/** hardwareDensityScore: up to 1 for the CPUs plus up to 1 for the GPUs. */
const MAX_DENSITY = 2;

/** Predicts a node from its own input only. An invalid value is omitted: the API would reject the whole status. */
export function predictTwin(input: TwinInput, model: TwinModel = defaultModel): TwinOutput {
  const { hardware, caps, density, pue, slowdown } = input;
  const stress = stressOf(model, nodePower(hardware, caps), input);
  const stressNow = input.schedulableClass === "asleep" ? undefined : stressOf(model, input.reading?.power, input);
  const room = stress === undefined ? undefined : headroom(caps, stress);
  const supplyStress = psuStress(input.supplyTotal, model.rackCapacity);
  const measurement = powerMeasurement(hardware, caps, input.reading, input.trend ?? wattsPerMinute(0));
  const output: TwinOutput = {
    schedulableClass: input.schedulableClass ?? "unknown",
    effectiveCapState: {
      ...(isPercentage(caps.cpuPct) ? { cpuPct: caps.cpuPct } : {}),
      ...(isPercentage(caps.gpuPct) ? { gpuPct: caps.gpuPct } : {}),
    },
    estimatedPUE: isNonNegative(pue) && pue >= 1 ? pue : 1,
  };
  if (stress !== undefined) output.predictedCoolingStressScore = stress;
  if (stressNow !== undefined) output.coolingStressNow = stressNow;
  if (room !== undefined) output.predictedPowerHeadroomScore = room;
  if (supplyStress !== undefined) output.predictedPsuStressScore = supplyStress;
  if (isNonNegative(density) && density <= MAX_DENSITY) output.hardwareDensityScore = density;
  if (isNonNegative(slowdown)) output.expectedSlowdownPct = slowdown;
  if (measurement !== undefined) output.powerMeasurement = measurement;
  return output;
}

/** The stress at this power. A custom model may return values out of range, which the API would reject. */
function stressOf(
  { cooling }: TwinModel,
  power: Watts | undefined,
  { hardware, ambient }: TwinInput,
): Percent | undefined {
  if (!isNonNegative(power)) return undefined;
  const rated = maxPowerOf(hardware);
  const ratedPower = rated && watts(rated.cpu + rated.gpu);
  return toScore(cooling.coolingStress(power, ambientOf(ambient, undefined), ratedPower) ?? Number.NaN);
}
