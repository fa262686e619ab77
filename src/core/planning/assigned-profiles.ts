import { awaitedPodOf } from "../api/index.ts";
import { type PlanNode, type PlannedNode, performanceHeldUntil, planProfiles } from "../policy/index.ts";
import { nodeFitOf } from "./node-fit.ts";
import type { AssignedProfiles, ManagedNode } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";

const noNodes: ReadonlySet<string> = new Set();

export function assignProfiles(
  managed: readonly ManagedNode[],
  performancePods: number,
  /** Whether each node is asleep or will be. */
  asleep: readonly boolean[],
  input: PlanningInput,
): AssignedProfiles {
  const { snapshot, cache, now, arrivals, unconfirmed = noNodes } = input;
  const { policy, minDwell, sleep } = input.settings;
  const byFit = policy.type === "fit_aware_v1";
  const heldUntil = managed.map(({ name }) => performanceHeldUntil(snapshot.twin(name), minDwell, now));
  const last = cache.profiles;
  const isSame =
    last !== undefined &&
    policy.type !== "rule_swap_v1" && // It depends on the time.
    !byFit && // It depends on the time and on all pods.
    last.performancePods === performancePods &&
    last.unconfirmed === unconfirmed &&
    last.managed.length === managed.length &&
    managed.every(
      (node, index) =>
        isSameForPolicy(node, last.managed[index]) &&
        heldUntil[index] === last.heldUntil[index] &&
        asleep[index] === last.asleep[index],
    );
  if (isSame) return last.assigned;
  const keptEco: PlannedNode[] = [];
  const eligible = managed.flatMap((node, index): PlanNode[] => {
    const { name, eligibility, shape, pin } = node;
    if (eligibility !== "eligible" || asleep[index] === true) return [];
    if (pin === undefined && unconfirmed.has(name)) {
      keptEco.push({ name, profile: "eco", reason: "its agent did not confirm raised caps in time" });
      return [];
    }
    const { density, hardware } = shape;
    const plain = { name, density, family: hardware.family, pin: pin?.profile, heldUntil: heldUntil[index] };
    if (!byFit) return [plain];
    const { spec, status } = snapshot.twin(name) ?? {};
    const isRaising = spec?.profile === "performance" && status?.schedulableClass === "eco";
    return [{ ...plain, isRaising, awaitedBy: awaitedPodOf(status), fit: nodeFitOf(node, input) }];
  });
  const demand = byFit ? { pods: snapshot.pods(), arrivals, sleeps: sleep?.mode === "on" } : undefined;
  const { hpCount, nodes, fit } = planProfiles(eligible, policy, { performancePods, now, fit: demand });
  const assigned = { hpCount, byName: new Map([...nodes, ...keptEco].map((node) => [node.name, node])), fit };
  cache.profiles = { managed, heldUntil, asleep, performancePods, unconfirmed, assigned };
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
