import {
  annotations,
  labels,
  managedByOperator,
  type NodePowerProfile,
  type NodePowerProfileSpec,
  type NodeTwinSpec,
  pinnedPolicyName,
} from "../api/index.ts";
import { type Instant, instant } from "../units/index.ts";
import type { ProfileCaps } from "./caps.ts";
import type { PublishedState } from "./published-state.ts";
import type { PolicyType } from "./settings.ts";

/**
 * The pin of a user that is in force. The operator's mirror of its own target is ignored, because it would pin the plan to
 * itself.
 */
export const pinFrom = (profile: NodePowerProfile | undefined, now: Instant): NodePowerProfileSpec | undefined =>
  profile === undefined || isOperatorsMirror(profile) || (pinnedUntil(profile) ?? Infinity) <= now
    ? undefined
    : profile.spec;

const isOperatorsMirror = ({ metadata }: NodePowerProfile): boolean =>
  metadata.labels?.[labels.managedBy] === managedByOperator;

/** When a pin ends. Without the annotation, or with an unreadable time in it, a pin never ends by itself. */
export function pinnedUntil({ metadata }: NodePowerProfile): Instant | undefined {
  const time = Date.parse(metadata.annotations?.[annotations.pinUntil] ?? "");
  return Number.isNaN(time) ? undefined : instant(time);
}

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
