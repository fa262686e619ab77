import type { FacilityOutput } from "../../../core/physics/index.ts";
import type { Datacenter } from "../machines/datacenter.ts";
import type { SimulatedMachine } from "../machines/simulated-machine.ts";
import { definitions } from "./metrics.ts";
import type { QueryableMetrics, Series } from "./query.ts";

/** Facility readings at one point in time. */
export interface FacilityMeters {
  readonly site: FacilityOutput;
  readonly zones: ReadonlyMap<string, FacilityOutput>;
  /** Watts per rack. */
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

/** The metrics that the query endpoint serves. */
export function queryableMetrics(datacenter: Datacenter): QueryableMetrics {
  const site = (figure: (reading: FacilityOutput) => number) => () => [
    { labels: {}, value: figure(readFacilityMeters(datacenter).site) },
  ];
  const zones = (figure: (reading: FacilityOutput) => number) => () =>
    Array.from(readFacilityMeters(datacenter).zones, ([zone, reading]) => ({
      labels: { zone },
      value: figure(reading),
    }));
  const nodes = (figure: (machine: SimulatedMachine) => number) => (): Series[] =>
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
      Array.from(readFacilityMeters(datacenter).racks, ([rack, value]) => ({ labels: { rack }, value })),
    [definitions.nodePower.name]: nodes(({ watts }) => watts),
    [definitions.nodeEnergy.name]: nodes(({ physics }) => physics.joules),
    [definitions.nodeTemperature.name]: nodes(({ physics }) => physics.temperature),
  };
}
