import type { FacilityOutput } from "../../../core/physics/index.ts";
import type { Datacenter } from "../machines/datacenter.ts";
import { definitions } from "./metrics.ts";

export interface FacilityMeters {
  readonly site: FacilityOutput;
  readonly zones: ReadonlyMap<string, FacilityOutput>;
  readonly racks: ReadonlyMap<string, number>;
}

export function readFacilityMeters(datacenter: Datacenter): FacilityMeters {
  const machines = [...datacenter.machines()];
  const racks = new Map<string, number>();
  for (const { spec, watts } of machines) racks.set(spec.rack, (racks.get(spec.rack) ?? 0) + watts);
  const zones = Map.groupBy(machines, ({ spec }) => spec.zone);
  return {
    site: datacenter.facility(machines),
    zones: new Map(Array.from(zones, ([zone, own]) => [zone, datacenter.facility(own)])),
    racks,
  };
}

export function siteMetric(datacenter: Datacenter, name: string): number | undefined {
  const { inlet, outside, it, cooling } = datacenter.facility();
  const values: Readonly<Record<string, number>> = {
    [definitions.ambient.name]: inlet,
    [definitions.outside.name]: outside,
    [definitions.itPower.name]: it,
    [definitions.coolingPower.name]: cooling,
  };
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
