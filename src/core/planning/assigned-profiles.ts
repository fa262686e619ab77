import { awaitedPodOf } from "../api/index.ts";
import { type PlanNode, type PlannedNode, performanceHeldUntil, planProfiles } from "../policy/index.ts";
import { nodeFitOf } from "./node-fit.ts";
import type { AssignedProfiles, ManagedNode } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";

const noNodes: ReadonlySet<string> = new Set();

export function assignProfiles(
  managed: readonly ManagedNode[],
  performancePods: number,
  asleep: readonly boolean[],
  input: PlanningInput,
): AssignedProfiles {
  const { snapshot, now, arrivals, unconfirmed = noNodes } = input;
  const { policy, minDwell, sleep } = input.settings;
  const byFit = policy.type === "fit_aware_v1";
  const keptEco: PlannedNode[] = [];
  const eligible = managed.flatMap((node, index): PlanNode[] => {
    const { name, eligibility, shape, pin } = node;
    if (eligibility !== "eligible" || asleep[index] === true) return [];
    if (pin === undefined && unconfirmed.has(name)) {
      keptEco.push({ name, profile: "eco", reason: "its agent did not confirm raised caps in time" });
      return [];
    }
    const { density, hardware } = shape;
    const twin = snapshot.twin(name);
    const heldUntil = performanceHeldUntil(twin, minDwell, now);
    const plain = { name, density, family: hardware.family, pin: pin?.profile, heldUntil };
    if (!byFit) return [plain];
    const { spec, status } = twin ?? {};
    const isRaising = spec?.profile === "performance" && status?.schedulableClass === "eco";
    return [{ ...plain, isRaising, awaitedBy: awaitedPodOf(status), fit: nodeFitOf(node, input) }];
  });
  const demand = byFit ? { pods: snapshot.pods(), arrivals, sleeps: sleep?.mode === "on" } : undefined;
  const { hpCount, nodes, fit } = planProfiles(eligible, policy, { performancePods, now, fit: demand });
  return { hpCount, byName: new Map([...nodes, ...keptEco].map((node) => [node.name, node])), fit };
}
