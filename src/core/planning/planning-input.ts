import type { ArrivalHistory } from "../policy/index.ts";
import type { FacilityPower, MeterReading } from "../twin/index.ts";
import type { Celsius, Instant, Watts } from "../units/index.ts";
import type { ClusterSnapshot } from "./cluster-snapshot.ts";
import type { PlanningMemory } from "./planning-memory.ts";
import type { PlanningSettings } from "./settings.ts";
import type { SleepObservations } from "./sleep-observations.ts";

export interface PlanningInput {
  readonly snapshot: ClusterSnapshot;
  readonly telemetry: Telemetry;
  readonly settings: PlanningSettings;
  /** The memory that the last pass returned. */
  readonly memory: PlanningMemory;
  /** For fit_aware_v1: recent arrivals of performance pods. */
  readonly arrivals?: ArrivalHistory | undefined;
  readonly sleep?: SleepObservations | undefined;
  /** Nodes whose agent did not confirm raised caps in time. They stay eco, and other nodes are promoted. */
  readonly unconfirmed?: ReadonlySet<string>;
  readonly now: Instant;
}

/** Readings from outside the cluster's own objects. */
export interface Telemetry {
  /** From the configured HTTP endpoint or Prometheus, by node. */
  readonly power: ReadonlyMap<string, MeterReading>;
  /** From metrics.k8s.io, by node. */
  readonly usage: ReadonlyMap<string, NodeUsage>;
  readonly facility: FacilityReadings;
}

export interface NodeUsage {
  readonly cpuCores: number;
  readonly at: Instant;
}

/** Readings of the site or of a cooling zone. */
export interface FacilityReading extends FacilityPower {
  readonly ambient?: Celsius;
}

export interface FacilityReadings {
  readonly site: FacilityReading;
  readonly zones: ReadonlyMap<string, FacilityReading>;
  /** From the racks' own meters. */
  readonly racks: ReadonlyMap<string, Watts>;
}
