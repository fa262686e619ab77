import { pueOf } from "../twin/index.ts";
import { type Celsius, celsius, isPositive, type Seconds, seconds, type Watts, watts } from "../units/index.ts";

/** A site in a temperate climate with free cooling in cool air; docs/guides/model.md has the sources. */
export const defaultFacility = {
  /** Outside temperature over a day: a cosine around the mean. */
  outsideMean: celsius(16),
  outsideSwing: 7,
  warmestAt: seconds(15 * 3600),
  /** Inlet temperature, and how far it follows the outside temperature when that is too warm for free cooling. */
  supply: celsius(22),
  freeCoolingBelow: celsius(16),
  supplyPerDegree: 0.4,
  /** Fans, pumps and transformers: a constant share of the rated IT power. */
  standingShare: 0.05,
  /** Watts of cooling per watt of IT under free cooling, and the increase per degree above that. */
  coolingShare: 0.08,
  coolingPerDegree: 0.012,
} as const;

export type FacilityModel = { readonly [Name in keyof typeof defaultFacility]: number };

const DAY = 24 * 3600;

/** Outside temperature, the same every day. Times are seconds since midnight; an invalid time counts as midnight. */
export function outsideAt({ outsideMean, outsideSwing, warmestAt }: FacilityModel, at: Seconds): Celsius {
  const time = Number.isFinite(at) ? at : 0;
  return celsius(outsideMean + outsideSwing * Math.cos((2 * Math.PI * ((time - warmestAt) % DAY)) / DAY));
}

const tooWarm = ({ freeCoolingBelow }: FacilityModel, outside: Celsius): number =>
  Math.max(0, outside - freeCoolingBelow);

/** The inlet temperature of the nodes: the setpoint of the room, higher on warm days. */
export const inletAt = (model: FacilityModel, outside: Celsius): Celsius =>
  celsius(model.supply + model.supplyPerDegree * tooWarm(model, outside));

export interface FacilityOutput {
  readonly outside: Celsius;
  readonly inlet: Celsius;
  readonly it: Watts;
  /** All power that is not IT: cooling and fixed losses of the building. */
  readonly cooling: Watts;
  /** Absent if the IT draws no power. */
  readonly pue?: number;
}

/** One part is constant, so PUE rises as load falls; the other grows with IT power and outside temperature. */
export function facilityAt(model: FacilityModel, at: Seconds, it: Watts, rated: Watts): FacilityOutput {
  const outside = outsideAt(model, at);
  const standing = isPositive(rated) ? model.standingShare * rated : 0;
  const perWatt = model.coolingShare + model.coolingPerDegree * tooWarm(model, outside);
  const drawn = watts(isPositive(it) ? it : 0);
  const cooling = watts(standing + perWatt * drawn);
  const pue = pueOf({ it: drawn, cooling });
  return { outside, inlet: inletAt(model, outside), it: drawn, cooling, ...(pue === undefined ? {} : { pue }) };
}
