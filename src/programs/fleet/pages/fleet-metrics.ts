import type { FacilityOutput } from "../../../core/physics/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import type { CapViolations, Datacenter, DatacenterTotals } from "../machines/datacenter.ts";
import type { PodWrite } from "../pods/kubelet.ts";
import { readFacilityMeters } from "./facility.ts";
import { definitions } from "./metrics.ts";

export interface FleetMetricsSources {
  readonly datacenter: Datacenter;
  readonly registered: () => number;
  readonly behind: () => number;
  readonly submitted: () => number;
  readonly withheld: () => number;
}

/** Prometheus metrics of the fleet. Node values are read at scrape time. */
export class FleetMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #datacenter: Datacenter;
  readonly #nodes;
  readonly #zones;
  readonly #rackPower;
  readonly #podWrites;
  readonly #writeErrors;
  /** Totals over all nodes, computed once per scrape. */
  #seen:
    | { readonly site: FacilityOutput; readonly totals: DatacenterTotals; readonly offences: CapViolations }
    | undefined;

  constructor(metrics: ProgramMetrics, facts: FleetMetricsSources) {
    const { datacenter } = facts;
    this.#metrics = metrics;
    this.#datacenter = datacenter;
    const column = (of: "nodePower" | "nodeEnergy" | "nodeTemperature" | "nodePods" | "cpuCap" | "gpuCap") =>
      metrics.nodes.gauge(definitions[of]).column();
    this.#nodes = {
      power: column("nodePower"),
      energy: column("nodeEnergy"),
      temperature: column("nodeTemperature"),
      pods: column("nodePods"),
      cpuCap: column("cpuCap"),
      gpuCap: column("gpuCap"),
    };
    this.#zones = {
      ambient: metrics.gauge(definitions.zoneAmbient),
      it: metrics.gauge(definitions.zoneItPower),
      cooling: metrics.gauge(definitions.zoneCoolingPower),
    };
    this.#rackPower = metrics.gauge(definitions.rackPower);
    this.#podWrites = metrics.counter(definitions.podWrites);
    this.#writeErrors = metrics.counter(definitions.writeErrors);
    metrics.reading(definitions.ambient, () => this.#seen?.site.inlet);
    metrics.reading(definitions.outside, () => this.#seen?.site.outside);
    metrics.reading(definitions.itPower, () => this.#seen?.site.it);
    metrics.reading(definitions.coolingPower, () => this.#seen?.site.cooling);
    metrics.reading(definitions.energy, () => this.#seen?.totals.joules);
    metrics.reading(definitions.seconds, () => this.#seen?.totals.seconds);
    metrics.reading(definitions.capChanges, () => this.#seen?.totals.capChanges);
    metrics.reading(definitions.heldPods, () => this.#seen?.offences.pods);
    metrics.reading(definitions.heldSeconds, () => this.#seen?.offences.podSeconds);
    metrics.reading(definitions.registered, facts.registered);
    metrics.reading(definitions.behind, facts.behind);
    metrics.reading(definitions.submitted, facts.submitted);
    metrics.reading(definitions.withheld, facts.withheld);
  }

  get contentType(): string {
    return this.#metrics.contentType;
  }

  text(): AsyncIterable<string> {
    for (const { spec, physics, watts } of this.#datacenter.machines()) {
      const row = this.#metrics.nodes.join(spec.name);
      this.#nodes.power.set(row, watts);
      this.#nodes.energy.set(row, physics.joules);
      this.#nodes.temperature.set(row, physics.temperature);
      this.#nodes.pods.set(row, physics.jobCount);
      this.#nodes.cpuCap.set(row, physics.caps.cpuWattsPerPackage);
      this.#nodes.gpuCap.set(row, physics.caps.gpuWattsPerBoard);
    }
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

  wrote(what: PodWrite): void {
    this.#podWrites.inc({ what });
  }

  failed(kind: WriteTarget): void {
    this.#writeErrors.inc({ kind });
  }
}

/** Kinds of writes: nodes with leases, pod status, and jobs. */
export type WriteTarget = "node" | "pod" | "job" | "power endpoint";
