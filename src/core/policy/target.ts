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

/** The pin of a user. The operator's mirror of its own target is ignored, because it would pin the plan to itself. */
export const pinFrom = (profile: NodePowerProfile | undefined): NodePowerProfileSpec | undefined =>
  profile?.metadata.labels?.[labels.managedBy] === managedByOperator ? undefined : profile?.spec;

/**
 * The caps of a node that may be pinned. The caps of the pin replace those of the pinned profile; a device without a cap in
 * the pin is uncapped. A pin without any cap sets only the profile. The other profile keeps its caps, for a node that is
 * still changing to the pinned one.
 */
export function capsUnder(pin: NodePowerProfileSpec | undefined, caps: ProfileCaps): ProfileCaps {
  if (pin === undefined) return caps;
  const { profile, cpu, gpu } = pin;
  if ((cpu ?? gpu?.powerCap) === undefined) return caps;
  return {
    ...caps,
    [profile]: { ...(cpu && { cpu }), ...(gpu && { gpu }) },
    ...(profile === "eco" && { ecoCeiling: undefined }),
  };
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
