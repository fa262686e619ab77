import { asHeld, asPinned, type PlanNode, type PlannedNode } from "./plan-node.ts";

/**
 * Chooses the nodes for the `hpCount` performance places: first nodes pinned to performance, then one node of each family
 * without one, densest family first, then the densest remaining nodes. Families never add a place.
 *
 * A pin is obeyed even beyond `hpCount`, because a user requested it. So is a node that was promoted a short time ago: it
 * takes no place from another node, so that promotions never wait. `ordered` is in density order.
 */
export function assignProfiles(ordered: readonly PlanNode[], hpCount: number): PlannedNode[] {
  const pinned = ordered.filter(({ pin }) => pin === "performance");
  const free = ordered.filter(({ pin }) => pin === undefined);
  const places = Math.max(0, hpCount - pinned.length);

  const kept = new Set(pinned.map(({ family }) => family));
  const reserved = new Set<string>();
  for (const { name, family } of free) {
    if (reserved.size >= places) break;
    if (kept.has(family)) continue;
    kept.add(family);
    reserved.add(name);
  }

  let open = places - reserved.size;
  return ordered.map((node, index): PlannedNode => {
    const { name, family, pin, heldUntil } = node;
    if (pin !== undefined) return asPinned(name, pin);
    if (reserved.has(name)) return { name, profile: "performance", reason: `densest of family ${family}` };
    if (open-- > 0) {
      return { name, profile: "performance", reason: `density rank ${index + 1} of ${ordered.length}` };
    }
    if (heldUntil !== undefined) return { name, profile: "performance", reason: asHeld(heldUntil) };
    return { name, profile: "eco", reason: afterThePerformanceNodes(hpCount) };
  });
}

function afterThePerformanceNodes(hpCount: number): string {
  if (hpCount === 0) return "the policy asks for no performance node";
  return hpCount === 1 ? "after the performance node" : `after the ${hpCount} performance nodes`;
}
