import {
  annotations,
  labels,
  managedByOperator,
  type NodePowerProfile,
  type NodePowerProfileSpec,
  type NodeTwinSpec,
  pinnedPolicyName,
} from "../api/index.ts";
import { type Instant, parseInstant } from "../units/index.ts";
import type { PolicyType } from "./plan-node.ts";
import type { PublishedState } from "./transitions.ts";

/** The pin of a user that is in force. The operator's mirror of its own target is none: it would pin the plan to itself. */
export const pinFrom = (profile: NodePowerProfile | undefined, now: Instant): NodePowerProfileSpec | undefined =>
  profile === undefined || isOperatorsMirror(profile) || (pinnedUntil(profile) ?? Infinity) <= now
    ? undefined
    : profile.spec;

const isOperatorsMirror = ({ metadata }: NodePowerProfile): boolean =>
  metadata.labels?.[labels.managedBy] === managedByOperator;

/** When a pin ends. Without the annotation, or with an unreadable time in it, a pin never ends by itself. */
export const pinnedUntil = ({ metadata }: NodePowerProfile): Instant | undefined =>
  parseInstant(metadata.annotations?.[annotations.pinUntil]);

/** The caps in the spec of a NodeTwin. An older operator did not write what they stand for. */
export type SpecCaps = Pick<NodeTwinSpec, "cpu" | "gpu" | "caps">;
export const capsIn = ({ cpu, gpu, caps }: NodeTwinSpec): SpecCaps => ({
  ...(cpu && { cpu }),
  ...(gpu && { gpu }),
  ...(caps && { caps }),
});

/** The spec of a node's NodeTwin. */
export const targetOf = (
  { profile, draining }: PublishedState,
  pin: NodePowerProfileSpec | undefined,
  caps: SpecCaps,
  policy: PolicyType,
): Omit<NodeTwinSpec, "nodeName"> => ({
  profile,
  ...caps,
  policy: { name: pin === undefined ? policy : pinnedPolicyName },
  scheduling: { draining },
});
