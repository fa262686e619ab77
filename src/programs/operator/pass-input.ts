import type { PowerReading } from "../../core/twin/index.ts";
import type { Instant } from "../../core/units/index.ts";
import type { FacilityReadings, NodeUsage } from "../../platform/telemetry/index.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { Memory } from "./memory.ts";
import type { OperatorSettings } from "./settings.ts";

/** What was read outside of the cluster's own objects. */
export interface Telemetry {
  /** From the configured HTTP endpoint or Prometheus. */
  readonly power: ReadonlyMap<string, PowerReading>;
  /** From metrics.k8s.io. */
  readonly usage: ReadonlyMap<string, NodeUsage>;
  readonly facility: FacilityReadings;
}

/** All that a pass is made from. */
export interface PassInput {
  readonly view: ClusterView;
  readonly settings: OperatorSettings;
  readonly telemetry: Telemetry;
  readonly memory: Memory;
  readonly now: Instant;
}
