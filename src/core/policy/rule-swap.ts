import type { Instant, Milliseconds } from "../units/index.ts";
import { asPinned, type PlanNode, type PlannedNode } from "./plan-node.ts";

/** The phase alternates every interval. An invalid interval stays in phase 0. */
export function swapPhase(now: Instant, interval: Milliseconds): 0 | 1 {
  const passed = Math.floor(now / interval);
  return Math.abs(passed % 2) === 1 ? 1 : 0;
}

/** In phase 0 the densest unpinned node is eco, in phase 1 the next one. Families and dwell times are ignored. */
export function ruleSwap(ordered: readonly PlanNode[], phase: 0 | 1): PlannedNode[] {
  let free = 0;
  return ordered.map(({ name, pin }) => {
    if (pin !== undefined) return asPinned(name, pin);
    const isEco = free++ === phase;
    return isEco
      ? { name, profile: "eco", reason: `its turn in phase ${phase} of rule_swap_v1` }
      : { name, profile: "performance", reason: `not its turn in phase ${phase} of rule_swap_v1` };
  });
}
