import type { FacilityOutput } from "../../../core/physics/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import type { CapViolations, Datacenter, DatacenterTotals } from "../machines/datacenter.ts";
import { definitions } from "./metrics.ts";

export interface FleetMetricsSources {
  readonly datacenter: Datacenter;
  readonly registered: () => number;
}

/** Prometheus metrics of the fleet. Node values are read at scrape time. */
export class FleetMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #datacenter: Datacenter;
  readonly #nodePower;
  readonly #zones;
  readonly #rackPower;
  readonly #writeErrors;
  /** Totals over all nodes, computed once per scrape. */
  #seen:
    | { readonly site: FacilityOutput; readonly totals: DatacenterTotals; readonly offences: CapViolations }
    | undefined;

  constructor(metrics: ProgramMetrics, facts: FleetMetricsSources) {
    const { datacenter } = facts;
    this.#metrics = metrics;
    this.#datacenter = datacenter;
    this.#nodePower = metrics.nodes.gauge(definitions.nodePower).column();
    this.#zones = {
      ambient: metrics.gauge(definitions.zoneAmbient),
      it: metrics.gauge(definitions.zoneItPower),
      cooling: metrics.gauge(definitions.zoneCoolingPower),
    };
    this.#rackPower = metrics.gauge(definitions.rackPower);
    this.#writeErrors = metrics.counter(definitions.writeErrors);
    metrics.reading(definitions.ambient, () => this.#seen?.site.inlet);
    metrics.reading(definitions.outside, () => this.#seen?.site.outside);
    metrics.reading(definitions.itPower, () => this.#seen?.site.it);
    metrics.reading(definitions.coolingPower, () => this.#seen?.site.cooling);
    metrics.reading(definitions.energy, () => this.#seen?.totals.joules);
    metrics.reading(definitions.heldPods, () => this.#seen?.offences.pods);
    metrics.reading(definitions.registered, facts.registered);
  }

  get contentType(): string {
    return this.#metrics.contentType;
  }

  text(): AsyncIterable<string> {
    for (const { spec, watts } of this.#datacenter.machines())
      this.#nodePower.set(this.#metrics.nodes.join(spec.name), watts);
    const { site, zones, racks } = readFacilityMeters(this.#datacenter);
    const { totals, offences } = this.#datacenter;
    this.#seen = { site, totals, offences };
    for (const [zone, { inlet, it, cooling }] of zones) {
      this.#zones.ambient.set({ zone }, inlet);
      this.#zones.it.set({ zone }, it);
      this.#zones.cooling.set({ zone }, cooling);
    }
    for (const [rack, watts] of racks) this.#rackPower.set({ rack }, watts);
    return this.#metrics.text();
  }

  failed(kind: WriteTarget): void {
    this.#writeErrors.inc({ kind });
  }
}

/** Kinds of writes: nodes with leases, pod status, and jobs. */
export type WriteTarget = "node" | "pod" | "job" | "power endpoint";

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
