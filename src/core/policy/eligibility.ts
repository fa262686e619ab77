import { type LabelSelector, matchesLabels, type Node, type NodeTwinSpec, type Profile } from "../api/index.ts";

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
export const keptProfile = (spec: NodeTwinSpec | undefined): Profile | undefined => spec?.profile;
