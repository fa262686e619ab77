import type { PowerEndpoint } from "../api/index.ts";
import type { ArrivalHistory } from "../fit/index.ts";
import type { SleepMemory } from "../sleep/index.ts";

/** What a pass knows for sleep decisions, besides the snapshot. */
export interface SleepObservations {
  /** Whether PowerEndpoints and volumes are up to date. If not, nothing falls asleep. */
  readonly current: boolean;
  /** Whether they were ever read. Until then no node is woken for what it lacks, only for pods. */
  readonly known: boolean;
  endpoint(node: string): PowerEndpoint | undefined;
  /** Whether a PersistentVolume is on the disks of the node with this name or hostname. */
  hasLocalVolume(node: string): boolean;
  /** Arrivals of pods of all classes. */
  readonly arrivals: ArrivalHistory;
  readonly memory: SleepMemory;
}
