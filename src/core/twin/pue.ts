import { isNonNegative, isPositive, type Watts } from "../units/index.ts";

/** IT power and cooling power of a zone or site. */
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
