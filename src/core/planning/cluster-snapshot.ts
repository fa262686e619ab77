import type { Node, NodeHardware, NodePowerProfile, NodeTwin } from "../api/index.ts";
import type { PodSummary } from "../demand/index.ts";

/** A Node with the fields that identify it and its version. */
export interface SnapshotNode extends Node {
  readonly metadata: Node["metadata"] & { readonly uid: string; readonly resourceVersion: string };
}

/**
 * The cluster as a planning pass reads it: the newest known version of each object, from a watch or from the response to a
 * write. It does not change during a pass, because a pass never awaits anything.
 */
export interface ClusterSnapshot {
  nodes(): Iterable<SnapshotNode>;
  node(name: string): SnapshotNode | undefined;
  twin(name: string): NodeTwin | undefined;
  hardware(name: string): NodeHardware | undefined;
  profile(name: string): NodePowerProfile | undefined;
  pods(): Iterable<PodSummary>;
  podsOn(node: string): Iterable<PodSummary>;
  /** Names of all NodeTwins, NodeHardwares and NodePowerProfiles, with or without a Node; a name may occur more than once. */
  recorded(): Iterable<string>;
  /** Whether this Node was deleted, or has not appeared for a while: an agent may report before its Node is known. */
  isGone(name: string): boolean;
  /** Whether pods, nodes, twins and profiles are up to date. If not, no node may be downgraded. */
  readonly current: boolean;
  /** Whether the list of Nodes is up to date. Only then does a missing Node count as deleted. */
  readonly nodesCurrent: boolean;
}

export function performancePodsOn(snapshot: Pick<ClusterSnapshot, "podsOn">, node: string): number {
  let count = 0;
  for (const { active, performanceSensitive } of snapshot.podsOn(node)) if (active && performanceSensitive) count++;
  return count;
}
