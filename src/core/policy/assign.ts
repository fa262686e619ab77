import type { Instant } from "../units/index.ts";
import { asPinned, type PlanNode, type PlannedNode } from "./plan-node.ts";

/**
 * Which nodes fill `hpCount`: pinned performance nodes first, then one node of each family that has none yet, densest family
 * first, then the densest of what is left. The families choose among the places; they never add one.
 *
 * A pin holds even beyond `hpCount`: a person asked for it. So does a node that was promoted a short time ago: it takes no place
 * from another one, so that promotion never waits. `ordered` is in density order.
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

const asHeld = (until: Instant): string =>
  `promoted less than PROFILE_MIN_DWELL ago: performance until ${new Date(until).toISOString()}`;

function afterThePerformanceNodes(hpCount: number): string {
  if (hpCount === 0) return "the policy asks for no performance node";
  return hpCount === 1 ? "after the performance node" : `after the ${hpCount} performance nodes`;
}
