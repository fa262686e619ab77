import type { PowerEndpoint } from "../api/index.ts";
import type { ArrivalHistory } from "../fit/index.ts";
import type { SleepMemory } from "../sleep/index.ts";

/** What a pass knows for sleep decisions, besides the snapshot. */
export interface SleepObservations {
  /** Whether PowerEndpoints and volumes can be read. Until then every node keeps the power that it has. */
  readonly current: boolean;
  endpoint(node: string): PowerEndpoint | undefined;
  /** Whether a PersistentVolume is on the node's own disks. */
  hasLocalVolume(node: string): boolean;
  /** Arrivals of pods of all classes. */
  readonly arrivals: ArrivalHistory;
  readonly memory: SleepMemory;
}
