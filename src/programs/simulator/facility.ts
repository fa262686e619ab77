import type { FacilityOutput } from "../../core/physics/index.ts";
import type { Datacenter } from "./datacenter.ts";
import type { Machine } from "./machine.ts";
import { definitions } from "./metrics.ts";
import type { Families } from "./query.ts";
import type { Series } from "./query-match.ts";

/** The meters of the building, at one moment. */
export interface FacilityReadings {
  readonly site: FacilityOutput;
  readonly zones: ReadonlyMap<string, FacilityOutput>;
  /** Watts of each rack. */
  readonly racks: ReadonlyMap<string, number>;
}

export function facilityOf(datacenter: Datacenter): FacilityReadings {
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

/** What can be asked of it as Prometheus would be. */
export function familiesOf(datacenter: Datacenter): Families {
  const site = (figure: (reading: FacilityOutput) => number) => () => [
    { labels: {}, value: figure(facilityOf(datacenter).site) },
  ];
  const zones = (figure: (reading: FacilityOutput) => number) => () =>
    Array.from(facilityOf(datacenter).zones, ([zone, reading]) => ({ labels: { zone }, value: figure(reading) }));
  const nodes = (figure: (machine: Machine) => number) => (): Series[] =>
    Array.from(datacenter.machines(), (machine) => {
      const { name: node, rack, zone } = machine.spec;
      return { labels: { node, rack, zone }, value: figure(machine) };
    });
  return {
    [definitions.ambient.name]: site(({ inlet }) => inlet),
    [definitions.itPower.name]: site(({ it }) => it),
    [definitions.coolingPower.name]: site(({ cooling }) => cooling),
    [definitions.outside.name]: site(({ outside }) => outside),
    [definitions.zoneAmbient.name]: zones(({ inlet }) => inlet),
    [definitions.zoneItPower.name]: zones(({ it }) => it),
    [definitions.zoneCoolingPower.name]: zones(({ cooling }) => cooling),
    [definitions.rackPower.name]: () =>
      Array.from(facilityOf(datacenter).racks, ([rack, value]) => ({ labels: { rack }, value })),
    [definitions.nodePower.name]: nodes(({ watts }) => watts),
    [definitions.nodeEnergy.name]: nodes(({ physics }) => physics.joules),
    [definitions.nodeTemperature.name]: nodes(({ physics }) => physics.temperature),
  };
}
