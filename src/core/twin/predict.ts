import type { NodeTwinStatus, Profile, SchedulableClass } from "../api/index.ts";
import { type Celsius, type Percent, type Watts, type WattsPerMinute, watts, wattsPerMinute } from "../units/index.ts";
import type { EffectiveCaps } from "./caps.ts";
import { ambientOf, type CoolingModel, linearCoolingModel } from "./cooling.ts";
import type { PowerEnvelope } from "./envelope.ts";
import { cappedPower, powerMeasurement } from "./measurement.ts";
import type { PowerReading } from "./power-source.ts";
import { psuStress } from "./psu.ts";
import { score } from "./score.ts";

/** All that is needed to predict one node. What is unknown is absent. */
export interface TwinInput {
  readonly hardware: PowerEnvelope;
  readonly caps: EffectiveCaps;
  /** The profile the node offers and whether it is on its way out of it. */
  readonly profile?: Profile | undefined;
  readonly draining?: boolean | undefined;
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
export const headroom = ({ cpuPct, gpuPct }: EffectiveCaps, coolingStress: Percent): Percent =>
  score(((cpuPct + gpuPct) * (100 - coolingStress)) / 200);

export function schedulableClassOf(profile: Profile | undefined, draining: boolean | undefined): SchedulableClass {
  return draining === true ? "draining" : (profile ?? "unknown");
}

/** The status of one node, from nothing but its own input: no loop, so a cluster costs as much as it has nodes. */
export function compute(input: TwinInput, model: TwinModel = defaultModel): TwinOutput {
  const { hardware, caps, supplyTotal, density } = input;
  const power = nodePower(hardware, caps);
  const measurement = powerMeasurement(hardware, caps, input.reading, input.trend ?? wattsPerMinute(0));
  const output: TwinOutput = {
    schedulableClass: schedulableClassOf(input.profile, input.draining),
    effectiveCapState: caps,
    estimatedPUE: input.pue ?? 1,
  };
  if (power !== undefined) {
    // A model that is plugged in may not know the bounds; the API insists on them.
    const stress = score(model.cooling.coolingStress(power, ambientOf(input.ambient, undefined)));
    output.predictedCoolingStressScore = stress;
    output.predictedPowerHeadroomScore = headroom(caps, stress);
  }
  if (supplyTotal !== undefined) output.predictedPsuStressScore = psuStress(supplyTotal, model.rackCapacity);
  if (density !== undefined) output.hardwareDensityScore = density;
  if (measurement !== undefined) output.powerMeasurement = measurement;
  return output;
}
