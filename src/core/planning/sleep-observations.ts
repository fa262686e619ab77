import type { PowerEndpoint } from "../api/index.ts";
import type { SelectedNode } from "../demand/index.ts";
import type { ArrivalHistory } from "../fit/index.ts";

/** What a pass knows for sleep decisions, besides the snapshot. */
export interface SleepObservations {
  /** Whether PowerEndpoints, volumes and claims are up to date. If not, nothing falls asleep. */
  readonly current: boolean;
  /** Whether they were ever read. Until then no node is woken for what it lacks, only for pods. */
  readonly known: boolean;
  endpoint(node: string): PowerEndpoint | undefined;
  /** Whether a PersistentVolume is on the disks of the node with this name or these labels. */
  hasLocalVolume(node: string, labels?: Readonly<Record<string, string>>): boolean;
  /** The node that a PersistentVolumeClaim, as `namespace/name`, has selected. */
  selectedNode(claim: string): SelectedNode | undefined;
  /** Arrivals of pods of all classes. */
  readonly arrivals: ArrivalHistory;
}
