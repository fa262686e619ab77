import { type PlanNode, performanceHeldUntil, planProfiles } from "../policy/index.ts";
import type { AssignedProfiles, ManagedNode } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";

export function assignProfiles(
  managed: readonly ManagedNode[],
  performancePods: number,
  { snapshot, settings: { policy, minDwell }, cache, now }: PlanningInput,
): AssignedProfiles {
  const heldUntil = managed.map(({ name }) => performanceHeldUntil(snapshot.twin(name), minDwell, now));
  const last = cache.profiles;
  const isSame =
    last !== undefined &&
    policy.type !== "rule_swap_v1" && // It depends on the time.
    last.performancePods === performancePods &&
    last.managed.length === managed.length &&
    managed.every(
      (node, index) => isSameForPolicy(node, last.managed[index]) && heldUntil[index] === last.heldUntil[index],
    );
  if (isSame) return last.assigned;
  const eligible = managed.flatMap(({ name, eligibility, shape, pin }, index): PlanNode[] => {
    if (eligibility !== "eligible") return [];
    const { density, hardware } = shape;
    return [{ name, density, family: hardware.family, pin: pin?.profile, heldUntil: heldUntil[index] }];
  });
  const { hpCount, nodes } = planProfiles(eligible, policy, { performancePods, now });
  const assigned = { hpCount, byName: new Map(nodes.map((node) => [node.name, node])) };
  cache.profiles = { managed, heldUntil, performancePods, assigned };
  return assigned;
}

/** A new version of a Node rarely differs in the values that a policy uses. */
const isSameForPolicy = (one: ManagedNode, other: ManagedNode | undefined): boolean =>
  one === other ||
  (one.name === other?.name &&
    one.eligibility === other.eligibility &&
    one.pin?.profile === other.pin?.profile &&
    one.shape.density.total === other.shape.density.total &&
    one.shape.hardware.family === other.shape.hardware.family);
