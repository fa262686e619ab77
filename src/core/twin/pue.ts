import { isNonNegative, isPositive, type Watts } from "../units/index.ts";

/** What a zone, or the site, spends on computing and on cooling it. */
export interface FacilityPower {
  readonly it?: Watts | undefined;
  readonly cooling?: Watts | undefined;
}

/** (IT + cooling) / IT; absent unless both were read. */
export function pueOf({ it, cooling }: FacilityPower): number | undefined {
  if (!isPositive(it) || !isNonNegative(cooling)) return undefined;
  const pue = 1 + cooling / it;
  return Number.isFinite(pue) ? pue : undefined;
}

/** The node's PUE: its cooling zone's where that was read, else the site's, else 1. Facility metrics off: pass neither. */
export const estimatedPue = (zone: FacilityPower = {}, site: FacilityPower = {}): number =>
  pueOf(zone) ?? pueOf(site) ?? 1;
