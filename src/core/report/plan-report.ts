import type { Profile } from "../api/index.ts";
import { PodShapes, type PodSummary, podSummaryOf } from "../demand/index.ts";
import {
  type ClusterPlan,
  type ClusterSnapshot,
  emptyPlanningMemory,
  type NodePlan,
  type PlanningSettings,
  planCluster,
  type SnapshotNode,
} from "../planning/index.ts";
import { hasSameCaps, isTwinOf } from "../policy/index.ts";
import type { SleepPlan } from "../sleep/index.ts";
import type { ClusterObjects } from "./cluster-objects.ts";

/** A node that the next pass changes, or that waits for a change. */
export interface PlannedChange {
  readonly node: string;
  /** In words: `performance → eco`, `stays draining`, `falls asleep`. */
  readonly change: string;
  readonly kind: "promote" | "demote" | "drain" | "caps" | "sleep" | "wake" | "remove";
  /** Why. */
  readonly reason: string;
  /** What it waits for; undefined if the next pass does it. */
  readonly waitsFor: string | undefined;
}

export interface PlanReport {
  readonly at: string;
  readonly performanceNodes: number;
  readonly performancePods: number;
  /** Without it no node is downgraded. */
  readonly podsReadable: boolean;
  readonly changes: readonly PlannedChange[];
  /** Why no node falls asleep at all; absent if nodes may, or if this plan knows nothing about sleep. */
  readonly sleepBlocked?: string | undefined;
  /** Nodes that stay as they are. */
  readonly unchanged: number;
}

/** The changes of a plan, from `planCluster` of the operator or recomputed from the API. */
export function planReport(plan: ClusterPlan): PlanReport {
  const changes: PlannedChange[] = [];
  const changing = new Set<string>();
  for (const node of plan.nodes.values())
    for (const change of [changeOf(node), powerChangeOf(node, plan.sleep)]) {
      if (change === undefined) continue;
      changes.push(change);
      changing.add(node.name);
    }
  for (const [node, leftovers] of plan.leftovers)
    changes.push({
      node,
      kind: "remove",
      change: "leaves management",
      reason: `Joulie removes its ${Object.keys(leftovers).join(", ") || "objects"}`,
      waitsFor: undefined,
    });
  return {
    at: new Date(plan.at).toISOString(),
    performanceNodes: plan.hpCount,
    performancePods: plan.demand.performancePods,
    podsReadable: plan.current,
    changes: changes.toSorted((one, other) => (one.node < other.node ? -1 : 1)),
    sleepBlocked: plan.sleep?.blocked,
    unchanged: plan.nodes.size - changing.size,
  };
}

/** The fields that a change depends on. */
type ChangingNode = Pick<
  NodePlan,
  "name" | "planned" | "reason" | "performancePods" | "seen" | "next" | "spec" | "twin"
>;

function changeOf({
  name,
  planned,
  reason,
  performancePods,
  seen,
  next,
  spec,
  twin,
}: ChangingNode): PlannedChange | undefined {
  const change = (kind: PlannedChange["kind"], text: string, waitsFor?: string): PlannedChange => ({
    node: name,
    kind,
    change: text,
    reason,
    waitsFor,
  });
  const pods = `${performancePods} performance ${performancePods === 1 ? "pod" : "pods"} to end; nothing is evicted`;
  if (next.state === "DrainingPerformance") {
    const text = seen.state === "DrainingPerformance" ? "draining → eco" : "performance → draining";
    return change("drain", text, performancePods === undefined ? "the pods to be readable" : pods);
  }
  if (seen.state !== next.state) return change(kindOf(planned), `${stateWord[seen.state]} → ${stateWord[next.state]}`);
  if (planned === "eco" && seen.state === "ActivePerformance")
    return change("demote", "performance → eco", "the pods to be readable");
  if (next.state === "ActiveEco" && next.caps !== "eco")
    return change("caps", "eco caps follow", "eco to be visible to schedulers");
  if (twin !== undefined && !hasSameCaps(twin.spec, spec)) return change("caps", "caps change");
  return twin === undefined ? change(kindOf(planned), `new → ${planned}`) : undefined;
}

const kindOf = (planned: Profile): "promote" | "demote" => (planned === "performance" ? "promote" : "demote");
const stateWord = { ActivePerformance: "performance", DrainingPerformance: "draining", ActiveEco: "eco" } as const;

/** What the power program does next. Without a sleep plan the operator's wish is the one that the NodeTwin publishes. */
function powerChangeOf({ name, twin, spec }: ChangingNode, sleep: SleepPlan | undefined): PlannedChange | undefined {
  const published = twin?.spec.power;
  const power = sleep === undefined ? published : spec.power;
  const wanted = power?.state ?? "on";
  const isPublished = wanted === (published?.state ?? "on");
  const current = twin?.status?.power?.state ?? "on";
  const change = (kind: "sleep" | "wake", text: string, usual: string, waitsFor: string): PlannedChange => ({
    node: name,
    kind,
    change: text,
    reason: power?.reason ?? usual,
    waitsFor: isPublished ? waitsFor : undefined,
  });
  if (wanted === "off" && current !== "off") {
    const waitsFor = current === "stopping" ? "the machine to shut down" : "the power program";
    return change("sleep", "falls asleep", "it is not needed", waitsFor);
  }
  if (wanted === "on" && current !== "on" && current !== "failed")
    return change("wake", "wakes", "it is needed", current === "waking" ? "the machine to boot" : "the power program");
  // With `recommend` the decision is not a wish. It counts as asleep from the second pass on.
  const decision = sleep?.nodes.get(name);
  if (decision?.wanted !== "off" || wanted === "off") return undefined;
  return {
    node: name,
    kind: "sleep",
    change: "could sleep",
    reason: decision.reason,
    waitsFor: "SLEEP_MODE=on; it only recommends now",
  };
}

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
