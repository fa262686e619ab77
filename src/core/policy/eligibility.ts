import { type LabelSelector, matchesLabels, type Node, type Profile } from "../api/index.ts";
import type { GuardMemory } from "./guard.ts";
import { published } from "./published.ts";

/** Only eligible nodes are planned; reserved and cordoned ones keep their last target; unmanaged ones have none. */
export type Eligibility = "eligible" | "unmanaged" | "reserved" | "cordoned";

export interface EligibilitySettings {
  readonly selector: LabelSelector;
  readonly reservedLabel: string;
}

export function eligibilityOf(node: Node, { selector, reservedLabel }: EligibilitySettings): Eligibility {
  const { labels } = node.metadata;
  if (!matchesLabels(selector, labels)) return "unmanaged";
  if (labels?.[reservedLabel] === "true") return "reserved";
  return node.spec?.unschedulable === true ? "cordoned" : "eligible";
}

/**
 * The profile to hand to the guard for a reserved or cordoned node: the one it was last given, so that its target stays, while
 * one that was draining is still re-checked and released. Undefined for a node that never had a target: it gets none.
 */
export const keptProfile = (memory: GuardMemory | undefined): Profile | undefined =>
  memory && published(memory).profile;
