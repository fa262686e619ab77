import { PodShapes, type PodSummary, podSummaryOf } from "../demand/index.ts";
import {
  type ClusterPlan,
  type ClusterSnapshot,
  emptyPlanningMemory,
  type PlanningSettings,
  planCluster,
  type SnapshotNode,
} from "../planning/index.ts";
import { isTwinOf } from "../policy/index.ts";
import type { ClusterObjects } from "./cluster-objects.ts";

/**
 * The plan that an operator with these settings would make now. What only an operator's memory knows is missing: arrivals of
 * pods, power trends, and sleep, whose wishes are those that the NodeTwins already publish.
 */
export function replan(objects: ClusterObjects, settings: PlanningSettings): ClusterPlan {
  return planCluster({
    snapshot: snapshotOf(objects, settings),
    settings: { ...settings, sleep: undefined },
    telemetry: { power: new Map(), usage: new Map(), facility: { site: {}, zones: new Map(), racks: new Map() } },
    memory: emptyPlanningMemory,
    now: objects.now,
  });
}

function snapshotOf(objects: ClusterObjects, { labels }: PlanningSettings): ClusterSnapshot {
  const { twins, hardware, profiles } = objects;
  const nodes = new Map(objects.nodes.map((node) => [node.metadata.name, node as SnapshotNode]));
  const shapes = new PodShapes();
  const pods = (objects.pods ?? []).map((pod) => podSummaryOf(pod, labels.powerProfile, shapes));
  const byNode = new Map<string, PodSummary[]>();
  for (const pod of pods) {
    if (pod.node === undefined) continue;
    const known = byNode.get(pod.node);
    if (known === undefined) byNode.set(pod.node, [pod]);
    else known.push(pod);
  }
  return {
    nodes: () => nodes.values(),
    node: (name) => nodes.get(name),
    twin: (name) => {
      const node = nodes.get(name);
      const twin = twins.get(name);
      return twin === undefined || (node !== undefined && !isTwinOf(node, twin)) ? undefined : twin;
    },
    hardware: (name) => hardware.get(name),
    profile: (name) => profiles.get(name),
    pods: () => pods,
    podsOn: (node) => byNode.get(node) ?? [],
    recorded: () => [...twins.keys(), ...hardware.keys(), ...profiles.keys()],
    isGone: (name) => !nodes.has(name),
    // With unknown pods the operator downgrades no node.
    current: objects.pods !== undefined,
    nodesCurrent: true,
  };
}
