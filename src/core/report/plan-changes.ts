import type { Profile } from "../api/index.ts";
import type { ClusterPlan, NodePlan } from "../planning/index.ts";
import { hasSameCaps } from "../policy/index.ts";

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
  /** Nodes that stay as they are. */
  readonly unchanged: number;
}

/** The changes of a plan, from `planCluster` of the operator or recomputed from the API. */
export function planReport(plan: ClusterPlan): PlanReport {
  const changes: PlannedChange[] = [];
  for (const node of plan.nodes.values()) {
    const change = changeOf(node) ?? powerChangeOf(node);
    if (change !== undefined) changes.push(change);
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
    unchanged: plan.nodes.size - changes.filter(({ kind }) => kind !== "remove").length,
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

/** What the power program does next: the wish that the NodeTwin publishes against the state of the machine. */
function powerChangeOf({ name, twin }: ChangingNode): PlannedChange | undefined {
  const { power } = twin?.spec ?? {};
  const wanted = power?.state ?? "on";
  const current = twin?.status?.power?.state ?? "on";
  if (wanted === "off" && current !== "off")
    return { node: name, kind: "sleep", change: "falls asleep", reason: power?.reason ?? "", waitsFor: undefined };
  if (wanted === "on" && current !== "on" && current !== "failed")
    return {
      node: name,
      kind: "wake",
      change: "wakes",
      reason: power?.reason ?? "it is needed",
      waitsFor: undefined,
    };
  return undefined;
}
