import { type ClusterPlan, type NodePlan, statusAt } from "../../core/planning/index.ts";
import { planReport } from "../../core/report/index.ts";
import type { Instant } from "../../core/units/index.ts";

/** `/debug/plan`: the last plan with its reasons; `?node=NAME` selects one node, `?changes` what changes next. */
export function planPage(
  plan: ClusterPlan,
  failureOf: (node: string) => string | undefined,
  query: URLSearchParams,
): unknown {
  if (query.has("changes")) return planReport(plan);
  const name = query.get("node");
  if (name !== null) {
    const node = plan.nodes.get(name);
    return node && nodeEntry(node, plan.at, failureOf(name));
  }
  return {
    at: new Date(plan.at).toISOString(),
    performanceNodesAskedFor: plan.hpCount,
    performancePods: plan.demand.performancePods,
    constraints: plan.demand.constraints,
    pendingPerformancePods: plan.fit,
    podsWait: plan.queued,
    podsReadable: plan.current,
    sleep: plan.sleep && { blocked: plan.sleep.blocked, nodes: Array.from(plan.sleep.nodes.values()) },
    nodes: Array.from(plan.nodes.values(), (node) => nodeEntry(node, plan.at, failureOf(node.name))),
    leftovers: Object.fromEntries(plan.leftovers),
  };
}

const nodeEntry = (node: NodePlan, at: Instant, failure: string | undefined) => ({
  name: node.name,
  eligibility: node.managed.eligibility,
  profile: node.planned,
  reason: node.reason,
  seen: { state: node.seen.state, caps: node.seen.caps, showsEco: node.seen.showsEco },
  next: node.next,
  transition: node.decision.transition?.name,
  performancePods: node.performancePods,
  intruders: node.decision.intruders,
  family: node.managed.shape.hardware.family,
  density: node.managed.shape.density,
  spec: node.spec,
  status: statusAt(node.status, at),
  failure,
});
