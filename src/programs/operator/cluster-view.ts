import type { Node, NodeHardware, NodePowerProfile, NodeTwin } from "../../core/api/index.ts";
import type { PodSummary } from "../../core/demand/index.ts";

/** A Node with what tells its versions apart. */
export interface ClusterNode extends Node {
  readonly metadata: Node["metadata"] & { readonly uid: string; readonly resourceVersion: string };
}

/**
 * What a pass reads of the cluster: the newest known of each object, be it from a watch or from the answer to a write. It does
 * not change while a pass looks at it, because a pass never waits.
 */
export interface ClusterView {
  nodes(): Iterable<ClusterNode>;
  node(name: string): ClusterNode | undefined;
  twin(name: string): NodeTwin | undefined;
  hardware(name: string): NodeHardware | undefined;
  profile(name: string): NodePowerProfile | undefined;
  pods(): Iterable<PodSummary>;
  podsOn(node: string): Iterable<PodSummary>;
  /** Another number whenever the pods of the node are others. */
  podsVersion(node: string): number;
  /** Another number whenever any pod is another. */
  readonly allPodsVersion: number;
  /** Names of all objects that are kept per node, whether the node is there or not; a name may come more than once. */
  recorded(): Iterable<string>;
  /** Whether a name that has no Node had one, or has waited for one long enough: an agent may be heard of before its Node. */
  isGone(name: string): boolean;
  /** Whether pods, and what they are held against, are as the server has them now; else nothing may go down. */
  readonly current: boolean;
  /** Whether the list of nodes is: what is not in it may be taken for gone. */
  readonly nodesCurrent: boolean;
}

/** Active performance-sensitive pods on a node, as seen at this moment. */
export function performancePodsOn(view: Pick<ClusterView, "podsOn">, node: string): number {
  let count = 0;
  for (const { active, performanceSensitive } of view.podsOn(node)) if (active && performanceSensitive) count++;
  return count;
}
