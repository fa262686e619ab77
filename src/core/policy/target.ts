import {
  labels,
  managedByOperator,
  type NodePowerProfile,
  type NodePowerProfileSpec,
  type NodeTwinSpec,
  pinnedPolicyName,
} from "../api/index.ts";
import type { ProfileCaps } from "./caps.ts";
import type { PublishedState } from "./published-state.ts";
import type { PolicyType } from "./settings.ts";

/** What a person asks of a node. The operator's mirror of its own target is nobody's wish: it would pin the plan to itself. */
export const pinFrom = (profile: NodePowerProfile | undefined): NodePowerProfileSpec | undefined =>
  profile?.metadata.labels?.[labels.managedBy] === managedByOperator ? undefined : profile?.spec;

/**
 * The caps of a node that may be pinned. A pin's own caps are those of the profile it asks for, copied as they are: a device
 * it does not name is uncapped. A pin that names no cap at all asks for the profile and no more. The other profile keeps its
 * caps, for a node on its way to the pinned one.
 */
export function capsUnder(pin: NodePowerProfileSpec | undefined, caps: ProfileCaps): ProfileCaps {
  if (pin === undefined) return caps;
  const { profile, cpu, gpu } = pin;
  if ((cpu ?? gpu?.powerCap) === undefined) return caps;
  return { ...caps, [profile]: { ...(cpu && { cpu }), ...(gpu && { gpu }) } };
}

/** The spec of a node's NodeTwin. */
export const targetOf = (
  { profile, draining, caps }: PublishedState,
  pin: NodePowerProfileSpec | undefined,
  profileCaps: ProfileCaps,
  policy: PolicyType,
): Omit<NodeTwinSpec, "nodeName"> => ({
  profile,
  ...capsUnder(pin, profileCaps)[caps],
  policy: { name: pin === undefined ? policy : pinnedPolicyName },
  scheduling: { draining },
});
