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
import { type EffectiveCaps, isPercentage } from "./caps.ts";
import { ambientOf, type CoolingModel, linearCoolingModel } from "./cooling.ts";
import type { PowerEnvelope } from "./envelope.ts";
import { cappedPower, powerMeasurement } from "./measurement.ts";
import type { PowerReading } from "./power-source.ts";
import { psuStress } from "./psu.ts";
import { toScore } from "./score.ts";

/** All that is needed to predict one node. What is unknown is absent. */
export interface TwinInput {
  readonly hardware: PowerEnvelope;
  readonly caps: EffectiveCaps;
  /** What the guard has published of the node's profile. */
  readonly schedulableClass?: SchedulableClass | undefined;
  readonly density?: number | undefined;
  readonly ambient?: Celsius | undefined;
  /** Power drawn from the node's supply by all nodes on it (see `supplyTotals`). */
  readonly supplyTotal?: Watts | undefined;
  readonly pue?: number | undefined;
  /** Where the node's workloads come in: what they make it draw, measured or estimated. */
  readonly reading?: PowerReading | undefined;
  readonly trend?: WattsPerMinute | undefined;
}

export interface TwinModel {
  readonly cooling: CoolingModel;
  readonly rackCapacity?: Watts | undefined;
}

export type TwinOutput = Pick<
  NodeTwinStatus,
  | "schedulableClass"
  | "predictedPowerHeadroomScore"
  | "predictedCoolingStressScore"
  | "predictedPsuStressScore"
  | "effectiveCapState"
  | "hardwareDensityScore"
  | "estimatedPUE"
  | "powerMeasurement"
>;

const defaultModel: TwinModel = { cooling: linearCoolingModel() };

/** What the node could draw at its caps. It is a planning figure: no live reading goes into it. */
export function nodePower(hardware: PowerEnvelope, caps: EffectiveCaps): Watts | undefined {
  const capped = cappedPower(hardware, caps);
  return capped === undefined ? undefined : watts(capped.cpu + capped.gpu);
}

/** Room for more work: cap factor (cpuPct + gpuPct)/200 times cooling factor 1 − stress/100, in percent. */
export const headroom = ({ cpuPct, gpuPct }: EffectiveCaps, coolingStress: Percent): Percent | undefined =>
  toScore(((cpuPct + gpuPct) * (100 - coolingStress)) / 200);

/** hardwareDensityScore: up to 1 for the CPUs and up to 1 for the GPUs. */
const MOST_DENSITY = 2;

/**
 * The status of one node, from nothing but its own input: no loop, so a cluster costs as much as it has nodes. A figure that
 * is none is left out on its own: the API refuses it, and with it the whole status.
 */
export function predictTwin(input: TwinInput, model: TwinModel = defaultModel): TwinOutput {
  const { hardware, caps, density, pue } = input;
  const power = nodePower(hardware, caps);
  const stress = power === undefined ? undefined : stressOf(model, power, input.ambient);
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
  if (room !== undefined) output.predictedPowerHeadroomScore = room;
  if (supplyStress !== undefined) output.predictedPsuStressScore = supplyStress;
  if (isNonNegative(density) && density <= MOST_DENSITY) output.hardwareDensityScore = density;
  if (measurement !== undefined) output.powerMeasurement = measurement;
  return output;
}

// A model that is plugged in may not know the bounds; the API insists on them.
const stressOf = ({ cooling }: TwinModel, power: Watts, ambient: Celsius | undefined): Percent | undefined =>
  toScore(cooling.coolingStress(power, ambientOf(ambient, undefined)) ?? Number.NaN);
